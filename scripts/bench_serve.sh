#!/usr/bin/env bash
# `roll serve` under 32 clients against `roll generate` of the same prompts in one batch, in turn, on the same model and threads:
#   scripts/bench_serve.sh [build/roll] [rounds] [responses]
# Prints response tokens a second of both and the median of their ratios; loading is counted on neither side. Only Python's own library.
set -euo pipefail
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=${THREADS:-2}
exec python3 - "${1:-build/roll}" "${2:-5}" "${3:-128}" <<'PYTHON'
import concurrent.futures, http.client, json, pathlib, re, statistics, subprocess, sys, tempfile, time

binary, rounds, count = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]), int(sys.argv[3])
CLIENTS, TOKENS = 32, 128


def generated(folder):
    done = subprocess.run([binary, "generate", "--model", "model", "--max-new-tokens", str(TOKENS), "--max-running-requests", str(CLIENTS), "--output", "out.jsonl"], cwd=folder,
                          input="".join(json.dumps(dict(prompt=f"{i} + {i} =", sampling=dict(seed=i))) + "\n" for i in range(count)), capture_output=True, text=True, check=True)
    return float(re.search(r"(\d+) response tokens/s", done.stderr)[1])


def served(folder, port):
    connections = [http.client.HTTPConnection("127.0.0.1", port) for _ in range(CLIENTS)]

    def client(number):
        tokens = 0
        for i in range(number, count, CLIENTS):
            connections[number].request("POST", "/v1/completions", json.dumps(dict(prompt=f"{i} + {i} =", seed=i, max_tokens=TOKENS)))
            tokens += json.loads(connections[number].getresponse().read())["usage"]["completion_tokens"]
        return tokens

    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        tokens = sum(pool.map(client, range(CLIENTS)))
    return tokens / (time.monotonic() - begin)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    subprocess.run([binary, "init-model", "--out", folder / "model", "--hidden", "512", "--layers", "8", "--heads", "8", "--kv-heads", "2", "--intermediate", "1408", "--vocab", "8192",
                    "--tokenizer", "builtin"], check=True, capture_output=True)
    server = subprocess.Popen([binary, "serve", "--model", "model", "--port", "0", "--max-running-requests", str(CLIENTS)], cwd=folder, stdout=subprocess.PIPE, text=True)
    port = int(re.search(r":(\d+)/", server.stdout.readline())[1])
    ratios = []
    for _ in range(rounds):
        batch, clients = generated(folder), served(folder, port)
        ratios.append(clients / batch)
        print(f"generate {batch:.0f} tokens/s, {CLIENTS} clients {clients:.0f}: {ratios[-1]:.2f}", flush=True)
    server.terminate()
    print(f"median {statistics.median(ratios):.2f} of {count} responses of {TOKENS} tokens")
PYTHON
