#!/usr/bin/env python3
"""Strangers at the ports of a job that torchrun-style variables start: whatever they say or leave unsaid, both ranks come
through, and the ports are open on the loopback only, and only until the ranks have met. Argument: the roll binary."""
import atexit
import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

import replay
from held_ports import held_port

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish

LIMIT_S = 120
WORDS = {
    "nothing, and leaves": b"",
    "garbage": bytes(range(256)) * 4,
    "the beginning of a greeting": b"\0" * 40,
    "a greeting without a proof": b"\0" * 32 + (1).to_bytes(8, "little") + b"\0" * 40,
    "HTTP": b"GET / HTTP/1.0\r\n\r\n",
    "c10d's store": b"\0" + (0x3C85F7CE).to_bytes(4, "little") + b"\x05" + (10).to_bytes(8, "little") + b"roll/token",
}


def listening(process):
    """(address, port) of the sockets on which a process listens."""
    inodes = set()
    for fd in pathlib.Path(f"/proc/{process.pid}/fd").glob("*"):
        try:
            inodes.add(os.readlink(fd))
        except OSError:
            pass
    found = set()
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
            address, port = fields[1].split(":")
            found.add((socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)))
    return found


def attack(port, held):
    for words in WORDS.values():
        try:
            caller = socket.create_connection(("127.0.0.1", port), timeout=5)
            caller.sendall(words)
            if words and len(held) < 200:
                held.append(caller)  # and waits
            else:
                caller.close()
        except OSError:
            return


class Job:
    def __init__(self, folder, name, port, **env):
        self.folder, self.name = folder, name
        self.env = {**os.environ, "OMP_NUM_THREADS": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                    "TMPDIR": str(folder), **env}

    def start(self, rank):
        out = []
        replay.train(self.folder, self.name, 2, rows=8, accumulation=1, max_steps=1, launch=lambda *words: out.append(words))
        words = [str(word) for word in out[0]] + ["--communicator", "tcp"]
        process = subprocess.Popen([replay.binary, *words], env={**self.env, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        atexit.register(process.kill)  # nothing where it has ended
        return process


def both_end(ranks, what):
    for rank, process in enumerate(ranks):
        out, _ = process.communicate(timeout=LIMIT_S)
        expect(process.returncode == 0, f"{what}: rank {rank} ended with {process.returncode}:\n{out[-2000:]}")


def wait_until(holds, what):
    end = time.monotonic() + LIMIT_S
    while not holds():
        if time.monotonic() > end:
            sys.exit(f"waited in vain: {what}")
        time.sleep(0.01)


def one_rank_waits(folder):
    """Strangers come while rank 0 waits for rank 1."""
    port, held = held_port(), []
    job = Job(folder, "waiting", port)
    first = job.start(0)
    wait_until(lambda: listening(first), "rank 0 listens")
    expect(listening(first) == {("127.0.0.1", port)}, f"rank 0 listens at {listening(first)}")
    secret = folder / f"roll-{os.getuid()}"
    wait_until(secret.exists, "rank 0 leaves its secret")
    expect(stat.S_IMODE(secret.stat().st_mode) == 0o700, "the secret's folder is its user's")
    for _ in range(100):
        attack(port, held)
    second = job.start(1)
    wait_until(lambda: not listening(first), "rank 0's port closes")
    both_end([first, second], "strangers at rank 0's port")
    expect(not list(secret.iterdir()), "the secret is gone after the meeting")


def at_every_port(folder):
    """Strangers knock at every port that either rank opens."""
    port, held, seen = held_port(), [], set()
    job = Job(folder, "everywhere", port)
    (folder / f"roll-{os.getuid()}" / f"meeting-{port}").write_text("0 0 of an earlier job\n")
    late = job.start(1)
    time.sleep(1)  # it looks for rank 0, with the secret of the earlier job
    late.send_signal(signal.SIGSTOP)  # so that rank 0's port stays open until it has been seen
    ranks = [late, job.start(0)]

    def knock(process):
        while process.poll() is None:
            for place in listening(process):
                seen.add(place[0])
                attack(place[1], held)

    strangers = [threading.Thread(target=knock, args=(process,), daemon=True) for process in ranks]
    for stranger in strangers:
        stranger.start()
    wait_until(lambda: seen, "a stranger sees a port")
    late.send_signal(signal.SIGCONT)
    both_end(ranks[::-1], "strangers at every port")
    for stranger in strangers:
        stranger.join()
    expect(seen == {"127.0.0.1"}, f"ports were open on {seen}")


def read(connection, count):
    """So many bytes, or what came before the other side closed."""
    got = b""
    while len(got) < count and (piece := connection.recv(count - len(got))):
        got += piece
    return got


def hold_port(port):
    """A stranger holds MASTER_PORT while a rank calls: what the rank says, which then trusts nobody for a guess."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        listener.settimeout(LIMIT_S)
        caller = listener.accept()[0]
        caller.settimeout(LIMIT_S)
        caller.sendall(bytes(32))
        said = read(caller, 80)
        expect(len(said) == 80 and int.from_bytes(said[32:40], "little") == 1, f"a rank says who it is: {said}")
        caller.sendall(bytes(32))
        expect(read(caller, 1) == b"", "a rank leaves who does not know the secret")
        caller.close()
    return said


def secrets_of_users(folder):
    """ROLL_JOB_SECRET is what ranks are let in by: it is never said, and what was said is of no use to others."""
    port, secret = held_port(), "one secret, " + "longer than any hash's block " * 3
    job = Job(folder, "named", port, ROLL_JOB_SECRET=secret)
    late = job.start(1)
    said = hold_port(port)
    expect(secret.encode()[:10] not in said, f"the secret is said: {said}")
    late.send_signal(signal.SIGSTOP)  # so that rank 0's port stays open for the stranger
    first = job.start(0)
    wait_until(lambda: ("127.0.0.1", port) in listening(first), "rank 0 listens")
    stranger = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
    number = read(stranger, 32)
    stranger.sendall(said)
    expect(len(set(number)) > 8 and read(stranger, 1) == b"", "a rank's words do not open the door again")
    late.send_signal(signal.SIGCONT)
    both_end([first, late], "with a secret that a stranger wanted")
    right = Job(folder, "wrong", port, ROLL_JOB_SECRET="one secret").start(0)
    wrong = Job(folder, "wrong", port, ROLL_JOB_SECRET="another").start(1)
    try:
        wrong.wait(timeout=3)
        expect(False, "a rank with another secret does not come in")
    except subprocess.TimeoutExpired:
        pass
    for process in (right, wrong):
        process.kill()
        process.communicate()


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    replay.make_model(folder)
    (folder / "rows.jsonl").write_text("".join(f'{{"id": "{i}", "prompt": "{i}+1=", "ground_truth": "{i + 1}", "tag": "sum"}}\n' for i in range(40)))
    one_rank_waits(folder)
    at_every_port(folder)
    secrets_of_users(folder)

finish("strangers")
