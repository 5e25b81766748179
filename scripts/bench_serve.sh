#!/usr/bin/env bash
# `roll serve` under 32 clients against `roll generate` of the same prompts in one batch, in turn, on the same model and threads, greedy:
#   scripts/bench_serve.sh [build/roll] [rounds] [responses] [model folder]
# Prints response tokens a second of both and, for each way to ask, the median of their ratios, and beside it that of tokens a CPU second, for a machine that
# others use; loading is counted on neither side. Without a folder the model is a random one of 26.8 M parameters. Only Python's own library.
set -euo pipefail
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=${THREADS:-2}
exec python3 - "${1:-build/roll}" "${2:-5}" "${3:-128}" "${4:-}" <<'PYTHON'
import concurrent.futures, http.client, json, os, pathlib, re, resource, statistics, subprocess, sys, tempfile, time

binary, rounds, count, model = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] and pathlib.Path(sys.argv[4]).resolve()
CLIENTS, TOKENS = 32, 128


def prompt(i):
    return {"prompt": f"{i} + {i} ="}


def messages(i):
    return {"messages": [{"role": "user", "content": f"What is {i} + {i}?"}]}


# how it is asked: the path, the question, whether the answer is a stream
WAYS = {"completions": ("/v1/completions", prompt, False), "chat": ("/v1/chat/completions", messages, False), "streamed chat": ("/v1/chat/completions", messages, True)}


def generated(folder, question):
    """Tokens, tokens a second, CPU seconds without what loading and the first tokens take."""
    tokens, rate, cpu = run_generate(folder, question, TOKENS)
    return tokens, rate, cpu - run_generate(folder, question, 1)[2]


def run_generate(folder, question, most):
    rows = "".join(json.dumps(question(i)) + "\n" for i in range(count))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([binary, "generate", "--model", model or "model", "--temperature", "0", "--max-new-tokens", str(most), "--max-running-requests", str(CLIENTS),
                           "--out", "out.jsonl"], cwd=folder, input=rows, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    tokens = sum(len(json.loads(line)["ids"]) for line in (folder / "out.jsonl").read_text().splitlines())
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return tokens, float(re.search(r"(\d+) response tokens/s", done.stderr)[1]), cpu


def cpu_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def answer(connection, path, body, streams):
    connection.request("POST", path, json.dumps(body | {"temperature": 0, "max_tokens": TOKENS} | ({"stream": True, "stream_options": {"include_usage": True}} if streams else {})))
    said = connection.getresponse().read()
    last = said.split(b"data: ")[-2] if streams else said  # [DONE] comes behind it
    return json.loads(last)["usage"]["completion_tokens"]


def served(server, port, path, question, streams):
    """As generated(); the first tokens are counted."""
    connections = [http.client.HTTPConnection("127.0.0.1", port) for _ in range(CLIENTS)]

    def client(number):
        return sum(answer(connections[number], path, question(i), streams) for i in range(number, count, CLIENTS))

    begin, begin_cpu = time.monotonic(), cpu_of(server.pid)
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        tokens = sum(pool.map(client, range(CLIENTS)))
    return tokens, tokens / (time.monotonic() - begin), cpu_of(server.pid) - begin_cpu


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    if not model:
        subprocess.run([binary, "init-model", "--out", folder / "model", "--hidden", "512", "--layers", "8", "--heads", "8", "--kv-heads", "2", "--intermediate", "1408",
                        "--vocab", "8192", "--tokenizer", "builtin"], check=True, capture_output=True)
    server = subprocess.Popen([binary, "serve", "--model", model or "model", "--port", "0", "--max-running-requests", str(CLIENTS)], cwd=folder, stdout=subprocess.PIPE, text=True)
    port = int(re.search(r":(\d+)/", server.stdout.readline())[1])
    ratios = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, (path, question, streams) in WAYS.items():
            (tokens, batch, batch_cpu), (heard, clients, clients_cpu) = generated(folder, question), served(server, port, path, question, streams)
            assert tokens == heard, f"{way}: {heard} tokens, and {tokens} in a batch"
            ratios[way].append((clients / batch, batch_cpu / clients_cpu))
            print(f"{way}: generate {batch:.0f} tokens/s, {CLIENTS} clients {clients:.0f}: {clients / batch:.2f}; CPU {batch_cpu:.2f} and {clients_cpu:.2f} s", flush=True)
    server.terminate()
    for way, its in ratios.items():
        wall, cpu = (statistics.median(its) for its in zip(*its))
        print(f"{way}: median {wall:.2f} of the tokens a second, {cpu:.2f} of the tokens a CPU second")
PYTHON
