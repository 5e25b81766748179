#!/usr/bin/env python3
"""Hostile clients before the three HTTP servers (roll serve, the endpoint of agents in training, roll report --serve), with and without a key: memory stays
bounded, honest clients are answered meanwhile, no descriptor or thread is left, Ctrl-C ends the program. Arguments: the roll binary, then perhaps
`--long`, which holds honest clients to 2 s and sends ten times as much."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from expecting import expect, finish
from hostile_clients import Target, all_cases

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import agents

BINARY, LONG = pathlib.Path(sys.argv[1]).resolve(), "--long" in sys.argv
GROWTH_MB = 100
PATIENCE_S = 2 if LONG else 20  # of honest clients; a busy machine makes them wait, a server that is held up for ever
END_S = 10 if LONG else 60


def status_of(pid, name):
    found = re.search(rf"^{name}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(found[1])


def descriptors(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


class Honest(threading.Thread):
    """Asks again and again, each time by a connection of its own."""

    def __init__(self, port, request):
        super().__init__(daemon=True)
        self.port, self.request, self.is_over, self.problems, self.longest, self.count = port, request, threading.Event(), [], 0, 0

    def run(self):
        while not self.is_over.wait(0.05):
            begin = time.monotonic()
            try:
                link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
                with contextlib.closing(link):
                    self.request(link)
            except (OSError, http.client.HTTPException, AssertionError) as problem:
                self.problems.append(repr(problem))
            self.longest, self.count = max(self.longest, time.monotonic() - begin), self.count + 1


def attack(name, pid, target, request):
    """All cases, one after the other, beside an honest client."""
    request_once = http.client.HTTPConnection("127.0.0.1", target.port, timeout=60)
    for _ in range(3): request(request_once)
    request_once.close()
    target.post(b'{"prompt": "' + b"x" * 7_000_000 + b'"}')  # once as an honest mistake, so that buffers are as large as they get
    time.sleep(0.5)
    before, fds, threads = status_of(pid, "VmRSS"), descriptors(pid), status_of(pid, "Threads")
    honest = Honest(target.port, request)
    honest.start()
    worst, count = (0, ""), 0
    for case, act in all_cases(target):
        wires = act()
        worst, count = max(worst, (status_of(pid, "VmRSS") - before, case)), count + 1
        for wire in wires: wire.close()
    honest.is_over.set()
    honest.join()
    deadline = time.monotonic() + 30
    while (descriptors(pid) > fds or status_of(pid, "Threads") > threads) and time.monotonic() < deadline: time.sleep(0.1)
    print(f"{name}: {count} cases; memory +{worst[0] >> 10} MB ({worst[1]}), honest: {honest.count} requests, {honest.longest:.2f} s at most")
    expect(count >= 40, f"{name}: {count} cases")
    expect(worst[0] < GROWTH_MB << 10, f"{name}: memory grew by {worst[0] >> 10} MB: {worst[1]}")
    expect(not honest.problems, f"{name}: honest clients: {honest.problems[:3]} of {len(honest.problems)}")
    expect(descriptors(pid) <= fds, f"{name}: {descriptors(pid) - fds} descriptors are left")
    expect(status_of(pid, "Threads") <= threads, f"{name}: {status_of(pid, 'Threads') - threads} threads are left")


def end_beside(name, process, target, code, end=lambda process: process.send_signal(signal.SIGINT)):
    """The end, by Ctrl-C or as `end` brings it about, while connections are held by a client that says a little now and then."""
    wires = [target.connect() for _ in range(20)]
    is_over = threading.Event()

    def trickle():
        for wire in wires: wire.sendall(b"POST / HTTP/1.1\r\n")
        while not is_over.wait(0.2):
            for wire in wires:
                with contextlib.suppress(OSError): wire.sendall(b"X: 1\r\n")
    thread = threading.Thread(target=trickle)
    thread.start()
    time.sleep(0.5)
    begin = time.monotonic()
    end(process)
    try:
        expect(process.wait(END_S) == code, f"{name}: ends with {process.returncode}")
    except subprocess.TimeoutExpired:
        expect(False, f"{name}: does not end within {END_S} s")
        process.kill()
    print(f"{name}: ended after {time.monotonic() - begin:.1f} s")
    is_over.set()
    thread.join()
    for wire in wires: wire.close()


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
    process, port = started(["serve", "--model", "model", "--template", "chatml", "--port", "0"], folder, environment)
    with contextlib.closing(process.stdout):
        target = Target(port, "/v1/completions", key, flood=(1600 if LONG else 160) << 20)
        attack(f"serve, key {key}", process.pid, target, ask("/v1/completions", key, dict(prompt="1+1=", max_tokens=2, seed=1)))
        end_beside(f"serve, key {key}", process, target, 130)


def check_report(folder):
    run = folder / "run"
    run.mkdir()
    (run / "metrics.jsonl").write_text("".join(json.dumps(dict(step=step, **{"critic/score/mean": step / 10})) + "\n" for step in range(1, 9)))
    process, port = started(["report", "run", "--serve", "0"], folder)
    with contextlib.closing(process.stdout):
        target = Target(port, "/", flood=(1600 if LONG else 160) << 20)
        attack("report", process.pid, target, ask("/"))
        end_beside("report", process, target, -signal.SIGINT)


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


def check_training(folder):
    key = "a-key-of-the-run"
    command = agents.command_of(BINARY, folder, "training", dict(api_key=key, timeout_s=1000))
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    port = next(int(found[1]) for line in process.stdout if (found := re.search(r"take sessions at http://127\.0\.0\.1:(\d+)/", line)))
    said = threading.Thread(target=process.stdout.read)  # so that it can write on
    said.start()
    target = Target(port, "/v1/sessions/x/chat/completions", key, flood=(1600 if LONG else 160) << 20)
    attack("training", process.pid, target, ask("/v1/sessions/x/models", key))
    end_beside("training", process, target, 0, lambda process: play(port, key))
    said.join()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([BINARY, "init-model", "--arch", "qwen2", "--hidden", "32", "--intermediate", "64", "--layers", "1", "--heads", "2", "--kv-heads", "2", "--tokenizer", "builtin",
                        "--seed", "1", "--out", "model"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for key in ("a-key-of-this-test", None): check_serve(folder, key)
        check_report(folder)
        check_training(folder)
    finish("hostile_clients_test")


main()
