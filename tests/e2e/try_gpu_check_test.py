#!/usr/bin/env python3
"""scripts/gpu_check.py, tried out without a GPU: all of it on small sizes; what hangs is ended with all that it started; a budget that
runs out or a signal leaves a report that can be read; the table refuses what was not measured. Argument: the roll binary."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BINARY = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
TORCH = ROOT / ".deps/torch"
if not (TORCH / "lib/libtorch_cpu.so").exists():
    print("skipped: the torch of this build is not in .deps")
    sys.exit(77)
MARK = f"1000000.{os.getpid()}"  # seconds that nobody else sleeps
# Says something, then hangs with a child in a process group of its own and one in a session of its own.
HANGS = f"""#!/usr/bin/env bash
case $1 in
  --version) echo roll; exit ;;
  init-model) exec "{BINARY}" "$@" ;;
esac
echo '{{"read_bytes_per_s": 1.0, "matmul_flops_per_s": 2.0}}'
set -m
sleep {MARK} & setsid sleep {MARK} & (trap '' TERM; sleep {MARK})
"""


def bundle(folder, roll):
    """What the bundle has of it, with another program as roll."""
    folder.mkdir()
    for name, text in (("roll", roll), ("roll_tests", f'#!/bin/sh\nexec "{BINARY.parent}/roll_tests" "$@"\n')):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    for name in ("gpu_check.py", "gpu_peers.py", "gpu_sizes.py", "gpu_table.py", "bench_replay.py"):
        shutil.copy(ROOT / "scripts" / name, folder)
    (folder / "tests").symlink_to(ROOT / "tests")
    return folder


def start(folder, *options):
    return subprocess.Popen([sys.executable, folder / "gpu_check.py", "--torch", TORCH, "--json", folder / "report.json", *map(str, options)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def check(folder, *options):
    process = start(folder, *options)
    output = process.communicate()[0]
    return process.returncode, output


def report_of(folder):
    return json.loads((folder / "report.json").read_text())


def survivors():
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [entry] if MARK.encode() in entry.read_bytes() and b"sleep" in entry.read_bytes() else []
        except OSError:
            continue
    return found


def tries_everything(folder):
    code, output = check(folder, "--device", "cpu")
    report = report_of(folder)
    assert code == 0 and report["passed"], output
    results = {one["name"]: one["result"] for one in report["results"]}
    assert set(results.values()) <= {"passed", "skipped"} and sum(name.startswith("smoke: ") for name in results) >= 2, results
    assert results["gpu_mesh_test"] == results["gpu_generate_test"] == results["sanitizer"] == "skipped", results
    figures = report["figures"]
    assert list(figures) == ["ceilings", "decode 1", "decode 4", "train", "step"], list(figures)
    for work in list(figures)[1:]:
        one = figures[work]
        assert min(one[key] for key in ("seconds", "bytes", "flops", "tokens_per_s", "share")) > 0 and one["ceilings"]["bytes_per_s"] > 0, one
    assert figures["train"]["tokens"] == 1024 and figures["train"]["metrics"]["time/step_train"] > 0, figures["train"]
    return report


def check_table(folder, report):
    def table(**changed):
        (folder / "changed.json").write_text(json.dumps(report | changed))
        return check(folder, "--table", folder / "changed.json")

    code, output = table()
    assert code == 1 and "made without one" in output and "decode 64: tokens_per_s" in output and "train: peer" in output, output
    figures = report["figures"]
    peer = dict(peer="another", tokens_per_s=10.0)
    whole = dict(ceilings=figures["ceilings"], **{work: figures["decode 4"] | dict(tokens_per_s=25.0, peer=peer) for work in
                                                  ("decode 1", "decode 64", "decode 256", "train", "step")})
    gpu = dict(device="cuda", machine=dict(gpus=["A GPU, 1 MiB, 580"]))
    code, output = table(figures=whole, **gpu)
    assert code == 0 and output.count("| 2.50 |") == 5 and "A GPU" in output, output
    for work in ("decode 256", "step"):
        code, output = table(figures={name: one for name, one in whole.items() if name != work}, **gpu)
        assert code == 1 and f"{work}: share" in output and "|" not in output, output
    code, output = table(figures=whole | {"train": whole["train"] | {"peer": None}}, **gpu)
    assert code == 1 and output.strip().endswith("lacks train: peer"), output


def ends_what_hangs(folder):
    code, output = check(folder, "--device", "cpu", "--only", "ceilings,smoke", "--budget", 9)
    assert not survivors(), "a child of a program that was ended runs on"
    report = report_of(folder)
    last = [one for one in report["results"] if one["name"] == "ceilings, roll"]
    assert code == 1 and last and last[0]["result"] == "out of time" and last[0]["seconds"] < 30, output
    assert report["figures"]["ceilings"]["flops_per_s"] == 2.0, "what it had said is lost"
    assert report["results"][-1]["why"].startswith("not begun") and report["passed"] is False, report["results"]


def stops_at_a_signal(folder):
    process = start(folder, "--device", "cpu", "--only", "ceilings")
    for _ in range(600):
        if survivors():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    output = process.communicate()[0]
    assert process.returncode == 143 and not survivors(), output
    assert report_of(folder)["passed"] is None


def main():
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        whole = bundle(place / "whole", f'#!/bin/sh\nexec "{BINARY}" "$@"\n')
        check_table(whole, tries_everything(whole))
        code, output = check(whole, "--device", "cpu", "--budget", 0)
        report = report_of(whole)
        assert code == 1 and report["results"] and {one["result"] for one in report["results"]} <= {"out of time", "skipped"}, output
        code, output = check(whole, "--only", "decode,dekode")
        assert code == 2 and "dekode" in output and "ceilings,smoke,decode,train" in output, output
        code, output = check(whole)
        assert code == 1 and "nothing was run" in output, output
        hangs = bundle(place / "hangs", HANGS)
        ends_what_hangs(hangs)
        stops_at_a_signal(hangs)


main()
