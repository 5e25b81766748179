#!/usr/bin/env python3
"""`roll serve`: OpenAI's own client gets what `roll generate` draws, streamed or whole, alone or among sixty; who hangs up frees the sampler;
nothing that is sent harms it. Argument: the roll binary."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from expecting import expect, finish
from serving import CHAT, HI, TEXT, Server

BINARY = pathlib.Path(sys.argv[1]).resolve()
def drawn(folder, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run([BINARY, "generate", "--model", "model", "--template", "chatml", "--max-new-tokens", "12"], cwd=folder, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_same_as_generate(folder, server):
    sampling = dict(temperature=0.8, top_k=50, seed=7)
    chat, = drawn(folder, [dict(messages=HI, sampling=sampling)])
    text, = drawn(folder, [dict(prompt="1+1=", sampling=sampling | dict(max_new_tokens=9))])
    status, said = server.ask(CHAT, dict(messages=HI, max_tokens=12, return_token_ids=True, logprobs=True, **sampling))
    choice = said["choices"][0]
    expect(status == 200 and choice["token_ids"] == chat["ids"] and choice["message"]["content"] == chat["text"], f"a chat: {said} is not {chat}")
    expect([token["logprob"] for token in choice["logprobs"]["content"]] == chat["log_probs"], f"log-probs: {choice} are not {chat}")
    expect(said["usage"] == dict(prompt_tokens=len(chat["prompt_ids"]), completion_tokens=len(chat["ids"]), total_tokens=len(chat["prompt_ids"]) + len(chat["ids"])), said)
    status, said = server.ask(TEXT, dict(model="model", prompt="1+1=", max_tokens=9, return_token_ids=True, **sampling))
    expect(said["choices"][0]["token_ids"] == text["ids"] and said["choices"][0]["text"] == text["text"], f"a text: {said} is not {text}")
    chunks = list(server.stream(CHAT, dict(messages=HI, max_tokens=12, return_token_ids=True, logprobs=True, stream_options=dict(include_usage=True), **sampling)))
    parts = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    expect("".join(part["delta"].get("content", "") for part in parts) == chat["text"], f"streamed {chunks}")
    expect([i for part in parts for i in part.get("token_ids", [])] == chat["ids"], "ids of a stream")
    expect([t["logprob"] for part in parts for t in (part["logprobs"] or {}).get("content", [])] == chat["log_probs"], "log-probs of a stream")
    expect(chunks[-1]["usage"]["completion_tokens"] == len(chat["ids"]) and not chunks[-1]["choices"], f"usage: {chunks[-1]}")


def scored(folder, ids, temperature):
    """Log-probs of ids but the first, by `roll logprobs`."""
    done = subprocess.run([BINARY, "logprobs", "--model", "model", "--temperature", str(temperature)], cwd=folder, input=json.dumps(dict(ids=ids)) + "\n", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["log_probs"]


def check_scores(folder, server):
    """Log-probs that the sampler does not keep: of the likeliest tokens, and of prompts that are echoed."""
    near = lambda a, b: len(a) == len(b) and all(abs(x - y) < 1e-4 for x, y in zip(a, b))
    sampling = dict(temperature=0.7, seed=5, max_tokens=6, return_token_ids=True)
    status, said = server.ask(TEXT, dict(prompt=["1+1=", "ä"], n=2, logprobs=3, echo=True, **sampling))
    expect(status == 200, said)
    for place, choice in enumerate(said["choices"]):
        prompt = ("1+1=", "ä")[place // 2]
        told, ids = choice["logprobs"], choice["prompt_token_ids"] + choice["token_ids"]
        expect(choice["text"].startswith(prompt), choice["text"])
        expect(told["token_logprobs"][0] is None and told["top_logprobs"][0] is None and near(told["token_logprobs"][1:], scored(folder, ids, 0.7)), told)
        expect(all(3 <= len(top) <= 4 and top[token] == own and list(top.values())[0] == max(top.values())
                   for token, own, top in zip(told["tokens"][1:], told["token_logprobs"][1:], told["top_logprobs"][1:])) or "\ufffd" in str(told["top_logprobs"]), told)
    wish = dict(messages=HI, logprobs=True, top_logprobs=4, **sampling)
    whole = server.ask(CHAT, wish)[1]["choices"][0]
    content = whole["logprobs"]["content"]
    expect("".join(bytes(token["bytes"]).decode(errors="replace") for token in content[:1]) == content[0]["token"], content)
    expect(b"".join(bytes(token["bytes"]) for token in content).startswith(whole["message"]["content"].encode()) or "\ufffd" in whole["message"]["content"], whole)
    for token in content:
        values = [other["logprob"] for other in token["top_logprobs"]]
        same = [other["logprob"] for other in token["top_logprobs"] if other["bytes"] == token["bytes"]]
        expect(len(values) == 4 and values == sorted(values, reverse=True) and (near(same, [token["logprob"]]) if same else token["logprob"] < values[-1]), token)
    parts = [chunk["choices"][0] for chunk in server.stream(CHAT, wish)]
    expect([token for part in parts for token in (part["logprobs"] or {}).get("content", [])] == content, "a stream brings the same at its end")
    expect("".join(part["delta"].get("content", "") for part in parts) == whole["message"]["content"], parts)
    echoed = "".join(chunk["choices"][0]["text"] for chunk in server.stream(TEXT, dict(prompt="1+1=", echo=True, **sampling)))
    expect(echoed == "1+1=" + server.ask(TEXT, dict(prompt="1+1=", **sampling))[1]["choices"][0]["text"], echoed)
    same = server.ask(TEXT, dict(prompt=["x", "y", "x"], n=2, **sampling))[1]["choices"]
    expect([c["token_ids"] for c in same[:2]] == [c["token_ids"] for c in same[4:]], "equal prompts with one seed get equal answers, wherever they stand")


def check_client(server):
    """By OpenAI's client, where it is installed."""
    try:
        import openai
    except ImportError:
        print("skipped: OpenAI's client (pip install openai)")
        return
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="any", max_retries=0, timeout=60)
    expect([model.id for model in client.models.list()] == ["model"], "the list of models")
    wish = dict(model="model", messages=HI, max_tokens=12, seed=3)
    whole = client.chat.completions.create(n=2, **wish)
    expect(len(whole.choices) == 2 and whole.usage.completion_tokens > 0, whole)
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in client.chat.completions.create(stream=True, **wish))
    expect(streamed == whole.choices[0].message.content, f"{streamed!r} is not {whole.choices[0].message.content!r}")
    for wrong, kind in ((dict(model="gpt-4"), openai.NotFoundError), (dict(temperature=-1), openai.BadRequestError), (dict(response_format=dict(type="xml")), openai.BadRequestError)):
        try:
            client.chat.completions.create(**wish | wrong)
            expect(False, f"{wrong} was answered")
        except kind as error:
            expect("model" in str(error) or "temperature" in str(error) or "response_format" in str(error), error)
    with client.chat.completions.create(stream=True, **wish | dict(max_tokens=30000)) as stream:
        next(iter(stream))  # and hangs up


def check_together(server):
    """Sixty-four at once: half of them hang up, the others get what they get alone."""
    wish = lambda i: dict(prompt=f"{i} + {i} =", max_tokens=20, seed=i, return_token_ids=True)
    alone = [server.ask(TEXT, wish(i))[1]["choices"][0]["token_ids"] for i in range(4)]

    def use(i):
        if i % 2 == 0:
            chunks = list(server.stream(TEXT, wish(i // 2 % 4)))
            return [id_ for chunk in chunks for id_ in chunk["choices"][0].get("token_ids", [])] == alone[i // 2 % 4]
        if i % 4 == 1:
            next(server.stream(TEXT, dict(prompt="x", max_tokens=30000)))
        else:
            with contextlib.suppress(TimeoutError):
                server.ask(TEXT, dict(prompt="x", max_tokens=30000), timeout=0.5)
        return True

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        expect(all(pool.map(use, range(64))), "who is served among many gets another answer")
    begin = time.monotonic()
    server.ask(TEXT, dict(prompt="x", max_tokens=300, seed=1))
    quiet = time.monotonic() - begin
    expect(quiet < 20, f"those who hung up are still served: {quiet:.1f} s for 300 tokens")


def mutants(count):
    rng = random.Random(5)
    good = json.dumps(dict(model="model", messages=HI, max_tokens=2, temperature=1, stop=["x"], logit_bias={"3": 1}, stream=False, n=1, seed=1, tools=[]))
    values = [None, True, -1, 0, 1e300, 2**70, "", "x", "\ud800", [], {}, [[]], {"x": []}, "${oc.env:HOME}", ["a"] * 40, {"role": 3}]
    for number in range(count):
        kind = number % 4
        if kind == 0:
            body = json.loads(good)
            body[rng.choice([*body, "prompt", "top_logprobs", "nonsense"])] = rng.choice(values)
            yield json.dumps(body).encode()
        elif kind == 1:
            yield good.encode()[:rng.randrange(len(good))]
        elif kind == 2:
            noisy = bytearray(good.encode())
            for _ in range(rng.randrange(1, 6)):
                noisy[rng.randrange(len(noisy))] = rng.randrange(256)
            yield bytes(noisy)
        else:
            yield rng.choice([b"[" * 5000, b'{"a":' * 3000, b"", b"null", b"3", rng.randbytes(50), good.encode() + good.encode(), b'{"prompt":"' + b"x" * 100000 + b'"}'])


def check_malformed(server, count):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda body: server.ask(CHAT, body)[0], mutants(count)))
    counts = {status: statuses.count(status) for status in sorted(set(statuses))}
    print(f"{count} malformed requests: {counts}")
    expect(set(counts) <= {200, 400, 404} and counts[400] > count / 2, counts)
    for raw in (b"\r\n\r\n", b"GET\r\n\r\n", b"POST /v1/completions HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"POST " + b"x" * 10000, b"\x16\x03\x01" * 50,
                b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nab"):
        with socket.create_connection(("127.0.0.1", server.port)) as wire:
            wire.sendall(raw)
            wire.shutdown(socket.SHUT_WR)
            wire.settimeout(30)
            with contextlib.suppress(ConnectionResetError):
                while wire.recv(4096):
                    pass
    expect(server.ask("/health")[0] == 200, "it does not live any more")
    for path, method in (("/nowhere", "GET"), (CHAT, "GET"), ("/v1/models/other", "GET"), ("/v1/../etc/passwd", "GET")):
        status, said = server.ask(path, method=method)
        expect(status == 404 and said["error"]["message"], f"{path}: {status} {said}")
    expect(server.ask("/v1/models", headers={"Host": "evil.example"})[0] == 403, "a page of somebody else may ask")


def on_one_connection(server, body, key):
    """The status of a request, and of one behind it on the same connection."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    with contextlib.closing(connection):
        connection.request("POST", CHAT, body, {"Authorization": "Bearer " + key})
        answer = connection.getresponse()
        answer.read()
        wire = connection.sock
        connection.request("GET", "/v1/models", headers={"Authorization": f"Bearer {server.key}"})
        second = connection.getresponse()
        expect(connection.sock is wire and json.loads(second.read())["object"] == "list", "the answer is the second request's")
        return answer.status, second.status


def check_connections(server):
    """A refused body is read, so that what comes behind it is no part of it."""
    small, large = json.dumps(dict(messages=HI, max_tokens=1)), b"x" * (2 << 20)
    heard = [on_one_connection(server, body, key) for body in (small, large) for key in (server.key, "another")]
    expect(heard == [(200, 200), (401, 200), (413, 200), (401, 200)], f"bodies and keys: {heard}")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as wire:
        wire.sendall(f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.key}\r\n\r\n".encode())
        expect(wire.recv(4096).startswith(b"HTTP/1.1 400 "), "a body without a length is none, and nobody waits for it")


def check_limits(folder):
    with Server(BINARY, folder, "--template", "chatml", "--max-running-requests", 1, "--max-waiting", 2, "--max-body-mib", 1, "--timeout", 2, "--max-length", 30000, key="secret-key-1") as server:
        check_connections(server)
        expect(server.ask(CHAT, dict(messages=HI), headers={"Authorization": "Bearer secret-key-2"})[0] == 401, "a wrong key is enough")
        expect(server.ask("/v1/models", headers={"Authorization": ""})[0] == 401, "no key is enough")
        for rest in ("x", ".0"):
            expect(server.ask("/v1/models", headers={"Authorization": "Bearer secret-key-1" + rest})[0] == 401, "a key with more behind it is enough")
        expect(server.ask("/v1/models", headers={"Host": "my.server"})[0] == 200, "with a key, the host may have any name")
        long = dict(prompt="x", max_tokens=30000, logit_bias={str(i): -100 for i in range(279 - 23, 279)})
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda i: server.ask(TEXT, long | dict(seed=i)), range(8)))
        statuses = [status for status, _ in answers]
        print("eight long ones, one at a time and two waiting:", statuses)
        expect(set(statuses) == {429, 504}, statuses)
        deadline = time.monotonic() + 20  # with one place, who asks next is served only if those who took too long gave it back
        while (status := server.ask(TEXT, dict(prompt="x", max_tokens=1))[0]) == 429 and time.monotonic() < deadline:
            time.sleep(0.05)
        expect(status == 200, f"an answer that took too long goes on: {status}")
        waiting = threading.Thread(target=lambda: statuses.append(server.ask(TEXT, long)[0]))
        waiting.start()
        time.sleep(0.3)
        expect(server.stop() == 143, "SIGTERM is its end")
        waiting.join()
        expect(statuses[-1] in (200, 503), f"who was served at its end hears {statuses[-1]}")
        expect("secret-key-1" not in server.said(), "the key is in the log")
    done = subprocess.run([BINARY, "serve", "--model", "model", "--host", "0.0.0.0"], cwd=folder, capture_output=True, text=True)
    expect(done.returncode == 2 and "ROLL_API_KEY" in done.stderr, f"open to all: {done}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([BINARY, "init-model", "--arch", "qwen2", "--hidden", "64", "--intermediate", "128", "--layers", "2", "--heads", "4", "--kv-heads", "2", "--tokenizer", "builtin",
                        "--seed", "1", "--out", "model"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        with Server(BINARY, folder, "--template", "chatml") as server:
            check_same_as_generate(folder, server)
            check_scores(folder, server)
            check_client(server)
            check_together(server)
            check_malformed(server, int(sys.argv[2]) if len(sys.argv) > 2 else 200)
            expect(server.stop(signal.SIGINT) == 130, f"Ctrl-C: {server.said()}")
        check_limits(folder)
    finish("serve_test")


main()
