#!/usr/bin/env python3
"""More than a hundred hostile programs through `roll score`: each is judged, and as wrong; afterwards the machine is as it
was, and the scoring process has not grown. Argument: the roll binary; with a second one, only programs whose name holds it.

Where programs cannot be isolated this is skipped, with the kernel's reason."""
import ctypes
import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import hostile_programs as hostile

BINARY = sys.argv[1]
WORD = sys.argv[2] if len(sys.argv) > 2 else ""
SECRET = "only-the-host-knows-this"
GIB = 1 << 30
PR_SET_CHILD_SUBREAPER = 36


def limit():
    """If the sandbox under test is broken, the machine is not."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (GIB, GIB))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def score(rows, *flags):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run([BINARY, "score", "--reward", "code_sandbox", *flags], input=text, capture_output=True, text=True, timeout=1200,
                          env={**os.environ, "ROLL_HOSTILE_SECRET": SECRET, "OMP_NUM_THREADS": "1"}, preexec_fn=limit)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def stream_row(program, expected="broken\n"):
    return {"response": f"```python\n{program}\n```", "ground_truth": "", "case_type": "input", "test_case_function": None,
            "test_cases": json.dumps([{"stdin": "", "expected_stdout": expected}])}


def tests_row(program, tests):
    return {"response": f"```python\n{program}\n```", "ground_truth": "", "case_type": "pytest", "test_cases": [{"assert_code": tests}]}


def interpreters():
    """Those that came of this test: it inherits whatever its children leave behind, and other tests run beside it."""
    parents, found = {}, []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parents[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if b"def send_frame" in (process / "cmdline").read_bytes()[:4000]:
                found.append(int(process.name))
        except OSError:
            pass

    def is_ours(pid):
        return pid == os.getpid() or pid in parents and is_ours(parents[pid])
    return [pid for pid in found if is_ours(pid)]


def peak_mib():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def rows_of(folder):
    for name, program in hostile.GREEDY:
        yield name, stream_row(program)
    for name, program in hostile.curious(folder, SECRET, shutil.which("python3")):
        yield name, stream_row(program)
    for name, program, tests in hostile.CHEATS:
        yield name, tests_row(program, tests)


def check_killed_run():
    """roll is gone in the middle of programs that do not end: so are they."""
    text = "".join(json.dumps(stream_row("import os, time\nos.fork()\nos.setsid() if os.getpid() > 1 else None\ntime.sleep(1000)")) + "\n" for _ in range(2))
    roll = subprocess.Popen([BINARY, "score", "--reward", "code_sandbox", "--timeout-s", "1000", "--world-size", "2"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    roll.stdin.write(text.encode())
    roll.stdin.close()
    wait_until(lambda: len(interpreters()) >= 8, "two boxes with a keeper and two processes each")
    roll.kill()
    roll.wait()
    wait_until(lambda: not interpreters(), "nothing is left")


def wait_until(condition, what):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(what)


def main():
    done, rewards = score([stream_row("print('broken')"), tests_row("def f(x): return x", "assert f(3) == 3")])
    if done.returncode == 2 and "unsafe_no_sandbox" in done.stderr:
        print(f"SKIPPED: {done.stderr.strip()}")
        sys.exit(77)
    assert [row["reward"] for row in rewards] == [1, 1], (rewards, done.stderr)
    quiet_peak = peak_mib()

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="roll_test_hostile_"))
    (folder / "secret").write_text(SECRET)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"\0roll-hostile-test-{os.getpid()}")
    listening.listen()
    files = {path: set(os.listdir(path)) for path in ("/", "/tmp", "/dev", "/dev/shm", "/usr/bin")}
    named = [(name, row) for name, row in rows_of(folder) if WORD in name]
    begin = time.time()
    done, rewards = score([row for _, row in named], "--timeout-s", "4", "--case-cpu-s", "2", "--memory-mb", "512", "--world-size", "2")
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(rewards) == len(named), f"{len(rewards)} of {len(named)} answers"
    wrong = [f"{name}: {row}" for (name, _), row in zip(named, rewards) if row["reward"] != 0]
    assert not wrong, "\n".join(wrong)
    if WORD:
        print("\n".join(f"{name}: {row['detail']}" for (name, _), row in zip(named, rewards)))
    assert not interpreters(), interpreters()
    for path, names in files.items():
        new = (set(os.listdir(path)) - names) & {"x", "y", "a", "b", "d", "d2", "f0", "left", "written"}  # what the programs write
        assert not new, f"{path} has {new}"
    assert os.listdir(folder) == ["secret"] and (folder / "secret").read_text() == SECRET
    assert peak_mib() < quiet_peak + 200, f"the scoring process grew from {quiet_peak:.0f} to {peak_mib():.0f} MiB"
    check_killed_run()
    (folder / "secret").unlink()
    folder.rmdir()
    print(f"{len(named)} hostile programs judged as wrong in {time.time() - begin:.0f} s; the machine is as before")


main()
