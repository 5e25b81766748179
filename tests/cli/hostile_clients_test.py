#!/usr/bin/env python3
"""Hostile clients before the three HTTP servers (roll serve, the endpoint of agents in training, roll report --serve), with and without a key: memory stays
bounded, honest clients are answered meanwhile, no descriptor or thread is left, Ctrl-C ends the program. Arguments: the roll binary, then perhaps
`--long`, which holds honest clients to 2 s and sends ten times as much, and `--verbose`, which says what each case costs."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

from expecting import expect, finish
from hostile_clients import FAMILIES, NO_END, Target, requests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import agents

BINARY, LONG = pathlib.Path(sys.argv[1]).resolve(), "--long" in sys.argv
GROWTH_MB = 100 if LONG else 160  # what the allocator keeps differs by 80 MB between runs on a busy machine
PATIENCE_S = 2 if LONG else 20  # of honest clients; a busy machine makes them wait, a server that is held up for ever
END_S = 10 if LONG else 60
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))  # for a thousand connections


def status_of(pid, name):
    found = re.search(rf"^{name}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(found[1])


def descriptors(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


def becomes(is_so):
    deadline = time.monotonic() + 30
    while not (now := is_so()) and time.monotonic() < deadline: time.sleep(0.1)
    return now


class Honest(threading.Thread):
    """Asks again and again, each time by a connection of its own."""

    def __init__(self, port, request):
        super().__init__(daemon=True)
        self.port, self.request, self.is_over, self.problems, self.count = port, request, threading.Event(), [], 0
        self.longest = self.longest_of_case = 0

    def run(self):
        while not self.is_over.wait(0.05):
            begin = time.monotonic()
            try:
                link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
                with contextlib.closing(link):
                    self.request(link)
            except (OSError, http.client.HTTPException, AssertionError) as problem:
                self.problems.append(repr(problem))
            took = time.monotonic() - begin
            self.longest, self.longest_of_case, self.count = max(self.longest, took), max(self.longest_of_case, took), self.count + 1


def attack(name, pid, target, request, long_requests=(), families=FAMILIES):
    """All cases of `families`, one after the other, beside an honest client that asks `request`. `long_requests` come once before, so that what serve needs
    for keys and values and to score a long prompt is not counted as growth."""
    request_once = http.client.HTTPConnection("127.0.0.1", target.port, timeout=60)
    for ask_once in [request, request, request, *long_requests]: ask_once(request_once)
    request_once.close()
    target.post(b'{"prompt": "' + b"x" * 7_000_000 + b'"}')  # once as an honest mistake, so that buffers are as large as they get
    time.sleep(0.5)
    before, fds, threads = status_of(pid, "VmRSS"), descriptors(pid), status_of(pid, "Threads")
    honest = Honest(target.port, request)
    honest.start()
    worst, count = (0, ""), 0
    for case, act in (case for family in families for case in family(target)):
        honest.longest_of_case, begin = 0, time.monotonic()
        wires = act()
        took = time.monotonic() - begin
        grown = status_of(pid, "VmRSS") - before
        worst, count = max(worst, (grown, case)), count + 1
        for wire in wires: wire.close()
        if "--verbose" in sys.argv: print(f"{name}: {case}: {took:.1f} s, +{grown >> 10} MB, honest {honest.longest_of_case:.2f} s", flush=True)
    honest.is_over.set()
    honest.join()
    becomes(lambda: descriptors(pid) <= fds and status_of(pid, "Threads") <= threads)
    print(f"{name}: {count} cases; memory +{worst[0] >> 10} MB ({worst[1]}), honest: {honest.count} requests, {honest.longest:.2f} s at most")
    expect(count >= 40, f"{name}: {count} cases")
    expect(worst[0] < GROWTH_MB << 10, f"{name}: memory grew by {worst[0] >> 10} MB: {worst[1]}")
    expect(not honest.problems, f"{name}: honest clients: {honest.problems[:3]} of {len(honest.problems)}")
    expect(descriptors(pid) <= fds, f"{name}: {descriptors(pid) - fds} descriptors are left")
    expect(status_of(pid, "Threads") <= threads, f"{name}: {status_of(pid, 'Threads') - threads} threads are left")


def end_beside(name, process, target, code, held, end=lambda process: process.send_signal(signal.SIGINT)):
    """The end, by Ctrl-C or as `end` brings it about, beside clients that say a little now and then, stop in the middle, or ask for `held`: half of
    these read it. Gives what each of them has heard."""
    slow = [target.connect() for _ in range(20)]
    stalled = [target.connect() for _ in range(20)]
    asking = [target.connect() for _ in range(50)]
    is_over = threading.Event()

    def trickle():
        for wire in slow: wire.sendall(b"POST / HTTP/1.1\r\n")
        while not is_over.wait(0.2):
            for wire in slow:
                with contextlib.suppress(OSError): wire.sendall(b"X: 1\r\n")

    def listen(wire):
        heard = b""
        wire.settimeout(END_S)
        with contextlib.suppress(OSError):
            while piece := wire.recv(65536): heard += piece
        return heard, time.monotonic() - begin

    for wire in stalled: wire.sendall(target.head(Content_Length=1000) + b"{")
    for wire in asking: wire.sendall(held)
    with concurrent.futures.ThreadPoolExecutor(30) as pool:
        pool.submit(trickle)
        readers = [pool.submit(listen, wire) for wire in asking[::2]]
        time.sleep(2)
        begin = time.monotonic()
        end(process)
        try:
            expect(process.wait(END_S) == code, f"{name}: ends with {process.returncode}")
        except subprocess.TimeoutExpired:
            expect(False, f"{name}: does not end within {END_S} s")
            process.kill()
        print(f"{name}: ended after {time.monotonic() - begin:.1f} s")
        is_over.set()
        heard = [reader.result() for reader in readers]
    for wire in slow + stalled + asking: wire.close()
    return heard


def started(arguments, folder, environment=None):
    process = subprocess.Popen([BINARY, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=open(folder / "err.txt", "w"), text=True, env=environment)
    line = process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
    assert found, (line, (folder / "err.txt").read_text())
    return process, int(found[1])


def ask(path, key=None, body=None):
    def request(link):
        link.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), {"Authorization": f"Bearer {key}"} if key else {})
        answer = link.getresponse()
        said = answer.read()
        assert answer.status == 200 and said, answer.status
    return request


def check_serve(folder, key):
    environment = {name: value for name, value in os.environ.items() if name != "ROLL_API_KEY"} | ({"ROLL_API_KEY": key} if key else {})
    process, port = started(["serve", "--model", "model", "--template", "chatml", "--port", "0", "--dtype", "bf16", "--kv-cache-mib", "32"], folder, environment)
    with contextlib.closing(process.stdout):
        target = Target(port, "/v1/completions", key, flood=(1600 if LONG else 160) << 20)
        asks_for_much = LONG or key is None  # who has the key is served as everybody is where there is none
        long_requests = [ask("/v1/completions", key, dict(prompt=[first] * 30_000, max_tokens=1, seed=1, **more)) for first in range(8)
                         for more in [{}, dict(echo=True, logprobs=3)][:1 if first else 2]]
        attack(f"serve, key {key}", process.pid, target, ask("/v1/completions", key, dict(prompt="1+1=", max_tokens=2, seed=1)),
               long_requests if asks_for_much else [], [family for family in FAMILIES if asks_for_much or family is not requests])
        if key is None: check_crowd(process.pid, target)
        body = json.dumps(dict(prompt=[1], max_tokens=30_000, logit_bias=NO_END, stream=True)).encode()
        for stream, seconds in end_beside(f"serve, key {key}", process, target, 130, target.head(Content_Length=len(body)) + body):
            expect(stream.count(b"data: ") > 3 and b'"server_error"' in stream and stream.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n"), f"a stream's end: {stream[-300:]}")
            expect(seconds < PATIENCE_S, f"a stream ends after {seconds:.1f} s")


def check_crowd(pid, target):
    """Two hundred streams at once beside a thousand connections that are idle or slow: each is whole."""
    def stream(seed):
        link = http.client.HTTPConnection("127.0.0.1", target.port, timeout=120)
        with contextlib.closing(link):
            link.request("POST", target.path, json.dumps(dict(prompt=f"{seed}", max_tokens=100, seed=seed, stream=True, logit_bias=NO_END)))
            lines = link.getresponse().read().split(b"\n\n")
        assert lines[-2:] == [b"data: [DONE]", b""], lines
        return "".join(json.loads(line[6:])["choices"][0]["text"] for line in lines[:-2])

    alone, fds, threads = [stream(seed) for seed in range(4)], descriptors(pid), status_of(pid, "Threads")
    wires = [target.connect() for _ in range(1000)]
    for wire in wires[::2]: wire.sendall(b"POST /v1/comp")
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        expect(list(pool.map(stream, [i % 4 for i in range(200)])) == alone * 50, "a stream among two hundred is not what it is alone")
    print(f"200 streams of 100 tokens beside 1000 connections: {time.monotonic() - begin:.1f} s")
    for wire in wires: wire.close()
    expect(becomes(lambda: descriptors(pid) <= fds and status_of(pid, "Threads") <= threads), f"{descriptors(pid) - fds} descriptors are left")


def check_report(folder):
    run = folder / "run"
    run.mkdir()
    (run / "metrics.jsonl").write_text("".join(json.dumps(dict(step=step, **{"critic/score/mean": step / 10})) + "\n" for step in range(1, 9)))
    process, port = started(["report", "run", "--serve", "0"], folder)
    with contextlib.closing(process.stdout):
        target = Target(port, "/", flood=(1600 if LONG else 160) << 20)
        attack("report", process.pid, target, ask("/"))
        end_beside("report", process, target, -signal.SIGINT, target.head("/", "GET"))


def play(port, key):
    """Plays all sessions, until the run has no more."""
    def post(path, body):
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        with contextlib.closing(link):
            link.request("POST", path, json.dumps(body), {"Authorization": "Bearer " + key})
            answer = link.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
    with contextlib.suppress(OSError, http.client.HTTPException):
        while (asked := post("/v1/sessions", {}))[0] != 503:
            if asked[0] != 200: continue
            path = "/v1/sessions/" + asked[1]["id"]
            post(path + "/chat/completions", dict(messages=[dict(role="user", content="go")], max_tokens=4))
            post(path + "/reward", dict(reward=1))


def check_training(folder, is_played):
    """A run that ends because it has been played, or by Ctrl-C."""
    key, name = "a-key-of-the-run", "training, played" if is_played else "training"
    command = agents.command_of(BINARY, folder, name, dict(api_key=key, timeout_s=1000))
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    port = next(int(found[1]) for line in process.stdout if (found := re.search(r"take sessions at http://127\.0\.0\.1:(\d+)/", line)))
    said = threading.Thread(target=process.stdout.read)  # so that it can write on
    said.start()
    target = Target(port, "/v1/sessions/x/chat/completions", key, flood=(1600 if LONG else 160) << 20)
    if is_played:
        attack(name, process.pid, target, ask("/v1/sessions/x/models", key))
        end_beside(name, process, target, 0, target.head("/v1/sessions/x/models", "GET"), lambda process: play(port, key))
    else:
        end_beside(name, process, target, 130, target.head("/v1/sessions", Content_Length=2) + b"{}")
    said.join()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([BINARY, "init-model", "--arch", "qwen2", "--hidden", "32", "--intermediate", "64", "--layers", "1", "--heads", "2", "--kv-heads", "1", "--tokenizer", "builtin",
                        "--seed", "1", "--out", "model"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for key in ("a-key-of-this-test", None): check_serve(folder, key)
        check_report(folder)
        for is_played in (True, False): check_training(folder, is_played)
    finish("hostile_clients_test")


main()
