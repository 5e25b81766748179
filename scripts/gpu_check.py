#!/usr/bin/env python3
"""The half of the GPU check that runs beside the GPU, from the bundle that scripts/gpu_bundle.sh packs. Installs nothing: takes
this python3's torch (its libraries), runs the tests that want a GPU, compute-sanitizer where there is one, and benchmarks, and
keeps one JSON file up to date, so that a run which is cut off leaves what it had."""
import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

here = pathlib.Path(__file__).resolve().parent
SIZES = {  # of the benchmarks: model, prompts, responses a prompt, tokens a response, sequences of a training step / 32
    "gpu": (["--hidden", 896, "--intermediate", 4864, "--layers", 24, "--heads", 14, "--kv-heads", 2, "--vocab", 151936, "--dtype", "bf16"], 64, 4, 256, 8),
    "cpu": (["--hidden", 64, "--layers", 2, "--heads", 4, "--vocab", 512], 4, 2, 128, 1)}


class Check:
    def __init__(self, file, environment):
        self.file, self.environment = file, environment
        self.report = dict(machine={}, steps=[], benchmarks={}, passed=None)

    def save(self):
        self.file.write_text(json.dumps(self.report, indent=1) + "\n")

    def start(self, command, timeout):
        """Exit code (None: out of time), seconds, and the end of what it said."""
        begin = time.monotonic()
        try:
            done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", timeout=timeout, env=self.environment, cwd=here)
            code, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            code, output = None, (late.stdout or b"").decode(errors="replace")
        return code, time.monotonic() - begin, output

    def step(self, name, command, timeout=600, results=None):
        """Exit code 77 is a test that was skipped. `results`: a function that tells each test's result."""
        print(f"gpu_check: {name} ...", flush=True)
        code, seconds, output = self.start(command, timeout)
        result = {0: "passed", 77: "skipped", None: f"not done in {timeout} s"}.get(code, "failed")
        step = dict(name=name, result=result, exit_code=code, seconds=round(seconds, 1))
        if results:
            step["tests"] = results()
        if result != "passed":
            step["output"] = output[-4000:]
            print(output[-2000:], flush=True)
        self.report["steps"].append(step)
        self.save()
        print(f"gpu_check: {name}: {result} ({seconds:.0f} s)", flush=True)

    def skip(self, name, why):
        self.report["steps"].append(dict(name=name, result="skipped", output=why))
        self.save()
        print(f"gpu_check: {name}: skipped, {why}", flush=True)


def first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def unit_tests(check, specification, folder):
    file = folder / "junit.xml"

    def results():
        try:
            cases = xml.etree.ElementTree.parse(file).iter("testcase")
        except (OSError, xml.etree.ElementTree.ParseError):
            return []
        return [dict(name=case.get("name"), seconds=float(case.get("time")),
                     failures=[found.get("message") or found.text for kind in ("failure", "error") for found in case.iter(kind)])
                for case in cases]

    check.step(f"unit tests {specification}", [here / "roll_tests", "-#", "-r", "junit", "-o", file, specification], results=results)


def sanitizer(check):
    tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if not tool:
        check.skip("compute-sanitizer", "this machine has none")
        return
    # Races can only be in our own kernels; the others are LibTorch's.
    for kind, specification in (("memcheck", "[gpu]"), ("racecheck", "the head*[gpu],the device*[gpu]")):
        check.step(f"compute-sanitizer {kind}", [tool, "--tool", kind, "--target-processes", "all", "--error-exitcode", 9,
                                                 here / "roll_tests", specification])


def training_tests(check, files):
    missing = [name for name in ("numpy", "safetensors") if not importlib.util.find_spec(name)]
    for file in files:
        if missing:
            check.skip(file.name, f"this python3 has no {' and no '.join(missing)}")
        else:
            check.step(file.name, [sys.executable, file, here / "roll"])


def bench_generate(check, model, device, sizes, folder):
    """Tokens a second: the time of many tokens less that of one, so without start and loading."""
    _, prompts, responses, tokens, _ = sizes
    (folder / "prompts.jsonl").write_text("".join(json.dumps(dict(ids=[10 + i] * 16)) + "\n" for i in range(prompts)))
    seconds = {}
    for count in (1, tokens):
        code, seconds[count], output = check.start(
            [here / "roll", "generate", "--model", model, "--input", folder / "prompts.jsonl", "--output", folder / "responses.jsonl", "-n", responses,
             "--max-new-tokens", count, "--ignore-eos", "--max-running-requests", prompts * responses, "--device", device], 300)
        if code != 0:
            return dict(failed=output[-2000:])
    sampling_s = seconds[tokens] - seconds[1]
    return dict(sequences=prompts * responses, tokens=tokens, seconds=seconds[tokens], seconds_of_one_token=seconds[1],
                tokens_per_s=prompts * responses * (tokens - 1) / sampling_s if sampling_s > 0 else None)


def bench_train(check, model, device, sizes, folder):
    """The library's own measures of the last of three steps, on replayed rollouts of long-tailed length."""
    import bench_replay
    bench_replay.prepare(folder / "train", model, 512, 3, processes=sizes[4], budget=16384)
    code, seconds, output = check.start([here / "roll", "train", "--config", folder / "train/run.yaml", "--device", device], 300)
    if code != 0:
        return dict(failed=output[-2000:])
    last = json.loads((folder / "train/run/metrics.jsonl").read_text().splitlines()[-1])
    return dict(seconds=seconds, **{key: value for key, value in last.items() if key.startswith(("perf/", "time/", "memory/"))})


def benchmarks(check, device, folder):
    sizes = SIZES["gpu" if device == "cuda" else "cpu"]
    model = folder / "model"
    code, _, output = check.start([here / "roll", "init-model", "--arch", "qwen2", *sizes[0], "--out", model], 300)
    if code != 0:
        check.report["benchmarks"]["init-model"] = dict(failed=output[-2000:])
        return
    for name, bench in (("generate", bench_generate), ("train", bench_train)):
        print(f"gpu_check: benchmark {name} ...", flush=True)
        result = check.report["benchmarks"][name] = bench(check, model, device, sizes, folder)
        check.save()
        print(f"gpu_check: benchmark {name}: {json.dumps(result)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("gpu_check.json"), help="the report (default: gpu_check.json)")
    parser.add_argument("--torch", help="folder with lib/libtorch_cpu.so; default: this python3's torch")
    parser.add_argument("--cpu", action="store_true", help="try the bundle out without a GPU: the other unit tests, a training test, small benchmarks")
    options = parser.parse_args()
    torch = importlib.util.find_spec("torch")
    torch = options.torch or (torch.submodule_search_locations[0] if torch else "")
    if not (pathlib.Path(torch or "/nowhere") / "lib/libtorch_cpu.so").exists():
        sys.exit("gpu_check: this python3 has no torch; start another python3, or give --torch DIR")
    check = Check(options.json.resolve(), {**os.environ, "ROLL_TORCH": str(pathlib.Path(torch).resolve())})
    gpus = first_line(["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"])
    check.report["machine"] = dict(gpus=gpus.splitlines(), cores=os.cpu_count(), torch=torch, roll=check.start([here / "roll", "--version"], 60)[2].splitlines())
    check.save()
    print("\n".join([f"gpu_check: {line}" for line in check.report["machine"]["roll"]] + [f"gpu_check: {gpus or 'no GPU: nvidia-smi finds none'}"]), flush=True)
    if not gpus and not options.cpu:
        print("gpu_check: nothing was run; --cpu runs what needs no GPU")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.cpu:
            unit_tests(check, "~[gpu]~[mpi]~[#launch_test]", folder)
            training_tests(check, [here / "tests/e2e/sft_test.py"])
        else:
            unit_tests(check, "[gpu]", folder)
            training_tests(check, sorted((here / "tests/e2e").glob("gpu_*_test.py")))
            sanitizer(check)
        benchmarks(check, "cpu" if options.cpu else "cuda", folder)
    failed = [step["name"] for step in check.report["steps"] if step["result"] not in ("passed", "skipped")]
    failed += [name for name, result in check.report["benchmarks"].items() if "failed" in result]
    check.report["passed"] = not failed
    check.save()
    print(f"gpu_check: {'failed: ' + ', '.join(failed) if failed else 'all passed'}; report: {check.file}")
    sys.exit(bool(failed))


main()
