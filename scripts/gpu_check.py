#!/usr/bin/env python3
"""The half of the GPU check that runs beside the GPU, from the bundle that scripts/gpu_bundle.sh packs. Installs nothing: takes this python3's torch.

    python3 gpu_check.py --budget 570 --json report.json       in the order of the list below, as far as 570 s reach
    python3 gpu_check.py --table report.json                   the README's table of what was measured

Every program is a process with a time limit, ended with all that it started, and the report is written after each."""
import argparse
import ctypes
import importlib.util
import json
import math
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

from gpu_sizes import MODELS, attention_cost, decode_cost, sizes_of, step_cost, train_cost
from gpu_table import table

here = pathlib.Path(__file__).resolve().parent
ENOUGH_S = 5  # to begin something


def processes_below(root):
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue  # it has just ended
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {root}


def end_all_below():
    """Also what left its process group or session: as a subreaper this process inherits what loses its parent."""
    while below := processes_below(os.getpid()):
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        time.sleep(0.01)


class Check:
    def __init__(self, file, device, model, budget_s, environment, folder):
        self.file, self.device, self.environment, self.folder = file, device, environment, folder
        self.sizes, self.end = sizes_of(device, model), time.monotonic() + budget_s
        self.model, self.adding = folder / "model", threading.Lock()
        self.report = dict(device=device, model=model, budget_s=budget_s, machine={}, results=[], figures={}, passed=None)

    def save(self):
        partial = self.file.with_suffix(".partial")
        partial.write_text(json.dumps(self.report, indent=1, allow_nan=False) + "\n")
        partial.replace(self.file)

    def add(self, name, result, **more):
        """result: passed, skipped, failed, or out of time."""
        with self.adding:
            self.report["results"].append(dict(name=name, result=result, **more))
            self.save()
            print(f"gpu_check: {name}: {result}" + "".join(f", {more[key]}" for key in ("seconds", "why") if key in more), flush=True)
            if result == "failed":
                print(more.get("output", "")[-1500:], flush=True)

    def run(self, name, command, limit):
        """Its output, or None where it did not end well. Exit code 77 says that it skipped itself."""
        return self.run_all([(name, command)], limit, 1)[0]

    def run_all(self, commands, limit, together):
        """So many beside each other."""
        try:
            with ThreadPoolExecutor(together) as pool:
                return list(pool.map(lambda one: self.run_beside(*one, limit), commands))
        finally:
            end_all_below()

    def run_beside(self, name, command, limit):
        left = self.end - time.monotonic()
        if left < ENOUGH_S:
            self.add(name, "out of time", why="not begun: the budget is spent")
            return None
        begin, code = time.monotonic(), None
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                                       env=self.environment, cwd=here, start_new_session=True)
            try:
                code = process.wait(min(limit, left))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            said.seek(0)
            output = said.read().decode(errors="replace")
        more = dict(seconds=round(time.monotonic() - begin, 1), exit_code=code)
        if code == 0:
            self.add(name, "passed", **more)
            return output
        if code is None:
            self.add(name, "out of time", why=f"ended after {min(limit, left):.0f} s", output=output[-4000:], **more)
        else:
            self.add(name, "skipped" if code == 77 else "failed", output=output[-4000:], **more)
        return None

    def lines(self, name, command, limit):
        """The lines of JSON that it printed, also of one that was ended."""
        output = self.run(name, command, limit)
        if output is None:
            output = self.report["results"][-1].get("output", "")
        found = []
        for line in output.splitlines():
            try:
                found += [json.loads(line)] if line.startswith("{") else []
            except json.JSONDecodeError:
                continue  # cut off
        return found

    def peers(self, work, limit):
        if not self.environment["ROLL_PEERS"]:
            self.add(f"{work}, PyTorch", "skipped", why="this python3 has no torch")
            return []
        if "experts" in self.sizes["shape"] and work != "ceilings":
            self.add(f"{work}, PyTorch", "skipped", why="gpu_peers.py has no mixtures of experts")
            return []
        return self.lines(f"{work}, PyTorch", [sys.executable, here / "gpu_peers.py", work, json.dumps(self.sizes | dict(device=self.device))], limit)

    def figure(self, work, seconds, cost, **more):
        """A figure with its bytes and FLOPs, and the share of the measured ceilings that it reaches."""
        ceilings = self.report["figures"].get("ceilings")
        least = max(cost["bytes"] / ceilings["bytes_per_s"], cost["flops"] / ceilings["flops_per_s"]) if ceilings else None
        self.report["figures"][work] = dict(seconds=seconds, **cost, ceilings=ceilings, share=least / seconds if least else None, **more)
        self.save()
        said = {key: value for key, value in self.report["figures"][work].items() if key not in ("ceilings", "kernels")}
        print(f"gpu_check: {work}: {json.dumps(said)}", flush=True)

    def make_model(self):
        if self.model.exists():
            return True
        if not importlib.util.find_spec("numpy"):
            self.add("the model", "skipped", why="this python3 has no numpy")
            return False
        shape = dict(self.sizes["shape"])
        flags = ["--tie" if shape.pop("tie") else "--no-tie"] + [word for key, value in shape.items() for word in (f"--{key.replace('_', '-')}", value)]
        if self.run("the model", [here / "roll", "init-model", *flags, "--dtype", "bf16", "--out", self.model], 180) is None:
            shutil.rmtree(self.model, ignore_errors=True)
            return False
        import bench_replay
        bench_replay.never_ends(self.model, shape["vocab"])
        return True


def bench(check, name, batch, prompt, new, *options):
    return check.lines(name, [here / "roll", "generate", "--bench", "--json", "--model", check.model, "--device", check.device, "--dtype", "bf16", "--batch",
                              batch, "--prompt-tokens", prompt, "--max-new-tokens", new, *options], 120)


def kernels_of(file):
    """Of a timeline: the share of its time in which no kernel ran, and the kernels, by name and blocks, those that took longest first."""
    if not file.exists():
        return None
    events = [one for one in json.loads(file.read_text())["traceEvents"] if one.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    if not events:
        return None  # of a CPU
    found, busy, end = {}, 0, -math.inf
    for one in sorted(events, key=lambda one: one["ts"]):
        busy += max(0, one["ts"] + one["dur"] - max(one["ts"], end))
        end = max(end, one["ts"] + one["dur"])
        kernel = found.setdefault((one["name"][:150], str(one["args"].get("grid", ""))), dict(name=one["name"][:150], blocks=one["args"].get("grid"), count=0, seconds=0))
        kernel["count"] += 1
        kernel["seconds"] += one["dur"] / 1e6
    span = end - min(one["ts"] for one in events)
    return dict(seconds=span / 1e6, idle=1 - busy / span, kernels=sorted(found.values(), key=lambda one: -one["seconds"])[:60])


def ceilings(check):
    """What this machine reads and multiplies, by roll's own measurement and PyTorch's: the better of each."""
    found = check.peers("ceilings", 150)
    if check.make_model():
        for row in bench(check, "ceilings, roll", 1, 16, 4):
            found.append(dict(bytes_per_s=row["read_bytes_per_s"], flops_per_s=row["matmul_flops_per_s"], peer="roll"))
    if found:
        check.report["figures"]["ceilings"] = dict({key: max(row[key] for row in found) for key in ("bytes_per_s", "flops_per_s")}, measured=found)
        check.save()


def test_cases(check, chosen):
    """(name, command) of each test case."""
    tests = here / "roll_tests"
    listed = subprocess.run([tests, "-#", "--list-test-names-only", chosen], capture_output=True, text=True, env=check.environment, cwd=here)
    return [(name, [tests, "-w", "NoTests", "-r", "compact", name.replace("\\", "\\\\").replace(",", "\\,").replace("[", "\\[")])
            for name in listed.stdout.splitlines()]


def smoke(check):
    """Each test case that wants a GPU (elsewhere: some kernels on simulated lanes) is a process; those that are tagged [alone] judge what
    others may change."""
    beside, alone = (test_cases(check, check.sizes["tests"] + which) for which in ("~[alone]", "[alone]"))
    if not beside + alone:
        check.add("smoke", "failed", output="roll_tests lists no test case")
    for cases, together in ((beside, max(1, os.cpu_count() // 2)), (alone, 1)):
        check.run_all([(f"smoke: {name}", command) for name, command in cases], 90, together)


def decode(check):
    prompt, new = check.sizes["decode"]
    if not check.make_model():
        return
    for batch in check.sizes["batches"]:
        for row in bench(check, f"decode, {batch} sequences", batch, prompt, new):
            check.figure(f"decode {batch}", row["decode_step_ms"] / 1e3, dict(bytes=row["decode_step_bytes"], flops=row["decode_step_flops"]),
                         tokens_per_s=row["decode_tokens_per_s"], tokens=batch, prompt_tokens=prompt,
                         prefill_tokens_per_s=row["prefill_tokens_per_s"])
    batch, file = max(check.sizes["batches"]), check.folder / "decode.json"
    bench(check, f"decode, {batch} sequences, traced", batch, prompt, 16, "--trace", file)
    if kernels := kernels_of(file):
        check.report["figures"].setdefault(f"decode {batch}", {})["kernels"] = kernels
        steps = check.sizes["shape"]["layers"] * 15  # of 16 tokens the first is the prompt's; some steps may have fewer rows
        attention = [one for one in kernels["kernels"] if "AttendPages" in one["name"] and steps / 2 < one["count"] <= steps]
        if attention:  # of a model that the device's decoder knows
            most = max(attention, key=lambda one: one["seconds"])
            check.figure(f"attention {batch}", most["seconds"] / most["count"], attention_cost(check.sizes["shape"], batch, prompt + 6))
    for row in check.peers("decode", 200):
        if "tokens_per_s" in row:
            check.report["figures"].setdefault(f"decode {row['batch']}", {})["peer"] = row
    check.save()


def metrics_of(check, name, folder, limit):
    """Of each step but the first, which warms up."""
    if check.run(name, [here / "roll", "train", "--config", folder / "run.yaml", "-n", 1, "--device", check.device], limit) is None:
        return []
    return [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()][1:]


def some_of(metrics, *groups):
    return {key: value for key, value in metrics.items() if key.startswith(groups) and math.isfinite(value)}


def add_best_peer(check, work, rows):
    if rows := [row for row in rows if "tokens_per_s" in row]:
        check.report["figures"].setdefault(work, {})["peer"] = max(rows, key=lambda row: row["tokens_per_s"])
    check.save()


def timeline_of(folder):
    kernels = kernels_of(folder / "run/timeline/step_000002_rank_0.json")
    return dict(kernels=kernels) if kernels else {}


def train(check):
    """One update in bfloat16 on replayed sequences."""
    import bench_replay
    count, length = check.sizes["train"]
    folder = check.folder / "train"
    if check.make_model():
        bench_replay.prepare(folder, check.model, check.sizes["shape"]["vocab"], 4, budget=count * length, dtype="bf16", lengths=[length] * count,
                             keeps_all=check.sizes["keeps_all"], timeline="true")
        if steps := metrics_of(check, "train, roll", folder, 180):
            seconds = statistics.median(step["time/step_train"] for step in steps)
            check.figure("train", seconds, train_cost(check.sizes["shape"], count, length), tokens_per_s=count * length / seconds, tokens=count * length,
                         metrics=some_of(steps[-1], "perf/", "time/", "memory/"), **timeline_of(folder))
    add_best_peer(check, "train", check.peers("train", 120))


def step(check):
    """A GRPO step: sampling, rewards, the reference's log-probs, one update."""
    import bench_replay
    if not check.sizes["step"]:
        return
    prompts, responses, new = check.sizes["step"]
    folder, texts = check.folder / "step", [f"{17 * i + 3} plus {29 * i + 11} is " for i in range(prompts)]
    if check.make_model():
        bench_replay.prepare_step(folder, check.model, texts, responses, new, 4, "bf16", budget=16384, forward_budget=16384, timeline="true")
        if steps := metrics_of(check, "step, roll", folder, 180):
            seconds = statistics.median(one["time/step_total"] for one in steps)
            check.figure("step", seconds, step_cost(check.sizes["shape"], prompts * responses, check.sizes["step_prompt"], new), tokens_per_s=prompts * responses * new / seconds,
                         tokens=prompts * responses * new, metrics=some_of(steps[-1], "actor/sampler_log_prob_gap", "time/", "memory/"), **timeline_of(folder))
    add_best_peer(check, "step", check.peers("step", 150))


def driven(check, name, limit):
    if missing := [module for module in ("numpy", "safetensors") if not importlib.util.find_spec(module)]:
        check.add(name, "skipped", why=f"this python3 has no {' and no '.join(missing)}")
    else:
        check.run(name, [sys.executable, here / f"tests/e2e/{name}.py", here / "roll"], limit)


def generate(check):
    driven(check, "gpu_generate_test", 180)


def mesh(check):
    driven(check, "gpu_mesh_test", 600)


def sanitizer(check):
    tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if not tool:
        check.add("sanitizer", "skipped", why="this machine has no compute-sanitizer")
        return
    def checked(kind, cases, *options):
        commands = [(f"{kind}: {name}", [tool, "--tool", kind, "--target-processes", "all", *options, *case]) for name, case in cases]
        return zip(commands, check.run_all(commands, 180, max(1, os.cpu_count() // 2)))

    # What a call refuses is not wrong: tests ask for it, and NCCL feels its way.
    checked("memcheck", test_cases(check, "[gpu]~[alone]"), "--report-api-errors", "no", "--error-exitcode", 9)
    for (name, _), output in checked("racecheck", test_cases(check, "the head*[gpu],the device*[gpu]")):
        if output and re.search("Race reported .*run_kernel", output):  # in our own kernels: cuBLAS has some
            check.add(name, "failed", output=output)


STAGES = [ceilings, smoke, decode, train, step, generate, mesh, sanitizer]


def parsed():
    names = [stage.__name__ for stage in STAGES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=86400, metavar="S", help="seconds in all; what they do not reach is not begun (default: a day)")
    parser.add_argument("--only", metavar="NAMES", type=lambda text: text.split(","), default=names, help=f"some of {','.join(names)}")
    parser.add_argument("--model", choices=MODELS, default="qwen3-0.6b", help="whose shape the models have that are measured (default: qwen3-0.6b)")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu tries the check out, with small sizes (default: cuda)")
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("gpu_check.json"), help="the report (default: gpu_check.json)")
    parser.add_argument("--torch", help="folder with lib/libtorch_cpu.so; default: this python3's torch")
    parser.add_argument("--table", type=pathlib.Path, metavar="REPORT", help="print the table of a report, run nothing")
    options = parser.parse_args()
    if unknown := [name for name in options.only if name not in names]:
        parser.error(f"--only {','.join(unknown)}: there is no such part; there are {','.join(names)}")
    return options


def end_on_signal(*_):
    end_all_below()
    sys.exit(143)


def main():
    options = parsed()
    if options.table:
        report = json.loads(options.table.read_text())
        sys.exit(table(report, sizes_of("cuda", report["model"])))
    found = importlib.util.find_spec("torch")
    torch = options.torch or (found.submodule_search_locations[0] if found else "")
    if not (pathlib.Path(torch or "/nowhere") / "lib/libtorch_cpu.so").exists():
        sys.exit("gpu_check: this python3 has no torch; start another python3, or give --torch DIR")
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    signal.signal(signal.SIGTERM, end_on_signal)
    with tempfile.TemporaryDirectory() as name:
        check = Check(options.json.resolve(), options.device, options.model, options.budget,
                      {**os.environ, "ROLL_TORCH": str(pathlib.Path(torch).resolve()), "ROLL_PEERS": "yes" if found else ""}, pathlib.Path(name))
        smi = shutil.which("nvidia-smi")
        gpus = subprocess.run([smi, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout if smi else ""
        version = subprocess.run([here / "roll", "--version"], capture_output=True, text=True, env=check.environment).stdout
        check.report["machine"] = dict(gpus=gpus.splitlines(), cores=os.cpu_count(), torch=torch, roll=version.splitlines())
        check.save()
        print("\n".join(f"gpu_check: {line}" for line in [*version.splitlines(), *(gpus.splitlines() or ["no GPU: nvidia-smi finds none"])]), flush=True)
        if not gpus and options.device == "cuda":
            sys.exit("gpu_check: nothing was run; --device cpu runs what needs no GPU")
        if not {decode.__name__, train.__name__, step.__name__}.isdisjoint(options.only):
            options.only.append(ceilings.__name__)  # what their figures are shares of
        for stage in STAGES:
            if stage.__name__ in options.only:
                try:
                    stage(check)
                except Exception:  # the other parts are worth their time
                    check.add(stage.__name__, "failed", output=traceback.format_exc())
    bad = [one["name"] for one in check.report["results"] if one["result"] in ("failed", "out of time")]
    check.report["passed"] = not bad
    check.save()
    print(f"gpu_check: {'not well: ' + ', '.join(bad) if bad else 'all passed'}; report: {check.file}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
