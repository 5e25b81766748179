#!/usr/bin/env python3
"""`roll doctor` says what is here, wherever it is started, and leaves with 0 whatever it finds. Argument: the roll binary."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

binary = pathlib.Path(sys.argv[1]).resolve()


def doctor(*flags, launcher=(), environment={}, **how):
    done = subprocess.run([*launcher, binary, "doctor", *flags], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment}, **how)
    assert done.returncode == 0, f"{launcher} {flags}: exit code {done.returncode}: {done.stderr}"
    return done.stdout


def found(**how):
    return json.loads(doctor("--json", **how))


def check_here(folder):
    here = found(cwd=folder)
    assert here["roll"] == subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0].removeprefix("roll ")
    assert here["cores"]["online"] == os.cpu_count() and here["cores"]["allowed"] == len(os.sched_getaffinity(0)), here["cores"]
    assert 1 <= here["cores"]["usable"] <= here["cores"]["allowed"], here["cores"]
    assert here["products"]["float32_flops_per_s"] > 0 and here["products"]["bfloat16_flops_per_s"] > 0, here["products"]
    total = int(pathlib.Path("/proc/meminfo").read_text().split()[1]) * 1024
    assert here["memory"]["total_bytes"] == total >= here["memory"]["available_bytes"] > 0, here["memory"]
    assert here["disks"][0]["folder"] == str(folder) and here["disks"][0]["total_bytes"] == shutil.disk_usage(folder).total, here["disks"]
    assert (here["mpirun"]["problem"] is None) == bool(shutil.which("mpirun")), here["mpirun"]
    assert here["uses"]["device"] == ("the CPU" if not here["gpu"]["devices"] else f"{len(here['gpu']['devices'])} GPU(s)"), here
    text = doctor(cwd=folder)
    assert text.split("\n")[-2].startswith(f"roll {here['roll']}; LibTorch 2."), text
    assert here["processor"]["model"] in text and str(folder) in text, text


def check_without(folder):
    """Neither mpirun nor Python on PATH."""
    here = found(environment={"PATH": str(folder)})
    assert here["mpirun"]["problem"].startswith("mpirun: cannot be started"), here["mpirun"]
    assert here["sandbox"]["problem"].startswith("python3: cannot be started"), here["sandbox"]
    assert here["uses"]["ranks"].startswith("one;") and here["uses"]["code_sandbox"].startswith("refused"), here["uses"]


def check_broken_mpirun(folder):
    (folder / "mpirun").write_text("#!/bin/sh\necho '-----' >&2\necho 'no slots at all' >&2\nexit 3\n")
    (folder / "mpirun").chmod(0o755)
    problem = found(environment={"PATH": f"{folder}:{os.environ['PATH']}"})["mpirun"]["problem"]
    assert problem == "exit status 3: no slots at all", problem


def check_one_core():
    cores = found(launcher=["taskset", "-c", str(min(os.sched_getaffinity(0)))])["cores"]
    assert cores["allowed"] == cores["usable"] == 1, cores


def check_under_mpirun():
    if shutil.which("mpirun"):
        problem = found(launcher=["mpirun", "-n", "1", "--allow-run-as-root"])["mpirun"]["problem"]
        assert problem == "not tried, because a launcher started this process", problem


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name).resolve()
    check_here(folder)
    check_without(folder)
    check_broken_mpirun(folder)
check_one_core()
check_under_mpirun()
print("what is here is told, with and without mpirun, Python and cores")
