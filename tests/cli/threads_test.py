#!/usr/bin/env python3
"""Idle threads spin only shortly, whoever starts the program, unless the user's environment says otherwise. libgomp itself
tells (OMP_DISPLAY_ENV) what it has read. Argument: the roll binary."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

binary = pathlib.Path(sys.argv[1]).resolve()
LIBGOMPS_OWN = "300000"


def start(arguments, environment, text=None):
    plain = {name: value for name, value in os.environ.items() if not re.match("G?OMP_|KMP_", name)}
    done = subprocess.run([*map(str, arguments)], input=text, capture_output=True, text=True, timeout=120, env={**plain, **environment})
    assert done.returncode == 0, f"{arguments}, {environment}: exit code {done.returncode}: {done.stderr}"
    return done


def check_spin_count(environment, expected, launcher=()):
    """libgomp speaks once: whoever started the program anew did so before libgomp began."""
    shown = start([*launcher, binary, "--version"], {"OMP_DISPLAY_ENV": "VERBOSE", **environment}).stderr
    counts = re.findall(r"GOMP_SPINCOUNT = '(\d+)'", shown)
    assert counts == [expected], f"{environment}, {launcher}: spin counts {counts}, not {expected}"


def check_header(folder, environment, expected):
    model = folder / "model"
    if not model.exists():
        start([binary, "init-model", "--arch", "qwen2", "--hidden", 16, "--intermediate", 32, "--layers", 1, "--heads", 2,
               "--kv-heads", 1, "--tokenizer", "builtin", "--seed", 1, "--out", model], {})
    said = start([binary, "generate", "--model", model, "--max-new-tokens", 2], environment, '{"prompt": "1+1="}\n').stderr
    assert expected in said.splitlines(), f"{environment}: {said!r} lacks {expected!r}"


def check_name():
    """Tools that show processes show this one by its own name and arguments."""
    with tempfile.TemporaryDirectory() as folder:
        lines = pathlib.Path(folder) / "fifo"
        os.mkfifo(lines)
        with subprocess.Popen([binary, "score", "--reward", "exact_match", "--input", lines], env={"OMP_NUM_THREADS": "2"}) as process:
            with open(lines, "w"):  # opens when the program reads: it has started by then
                name = pathlib.Path(f"/proc/{process.pid}/comm").read_text().strip()
                arguments = pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
    assert (name, arguments[0]) == (binary.name, str(binary).encode()), (name, arguments)


def main():
    check_spin_count({}, "3000")
    check_spin_count({"OMP_NUM_THREADS": "2"}, "3000")
    check_spin_count({"OMP_NUM_THREADS": "1"}, LIBGOMPS_OWN)  # nobody waits
    check_spin_count({"GOMP_SPINCOUNT": "77"}, "77")
    check_spin_count({"OMP_WAIT_POLICY": "passive"}, "0")
    check_spin_count({"KMP_BLOCKTIME": "1"}, LIBGOMPS_OWN)
    check_spin_count({"OMP_NUM_THREADS": "2"}, "3000", ["mpirun", "-n", "1", "--allow-run-as-root"])
    loader = next(line.split()[-1] for line in subprocess.run(["readelf", "-l", binary], capture_output=True, text=True, check=True).stdout.splitlines()
                  if "program interpreter" in line).rstrip("]")
    check_spin_count({}, LIBGOMPS_OWN, [loader])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_header(folder, {"OMP_NUM_THREADS": "2"}, "2 threads, short spin (GOMP_SPINCOUNT=3000)")
        check_header(folder, {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "active"}, "2 threads, OMP_WAIT_POLICY=active")
        check_header(folder, {"OMP_NUM_THREADS": "1"}, "1 thread")
    check_name()
    print("a short spin by default; a user's own setting stays")


main()
