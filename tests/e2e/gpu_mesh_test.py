#!/usr/bin/env python3
"""On a GPU: one process through NCCL, and two and four processes that share the GPU and talk through the host's memory, train as one
process does, in float32, bfloat16 and float16; with `deterministic` twice to the bit. Argument: the roll binary."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from replay import PACKED, compare, record, roll, train

# Weights, metrics. bfloat16 keeps 8 bits: layouts round at other places, and a sharp learning rate amplifies it.
BOUNDS = {"fp32": (1e-5, 1e-4), "bf16": (3e-2, 2e-1), "fp16": (3e-2, 2e-1)}
LAYOUTS = [("one rank through NCCL", 1, 1, 1, "nccl"), ("dp 2", 2, 1, 1, "auto"), ("tp 2", 2, 2, 1, "auto"), ("cp 2", 2, 1, 2, "auto"),
           ("dp 2 tp 2", 4, 2, 1, "auto"), ("cp 2 tp 2", 4, 2, 2, "auto"), ("tp 4", 4, 4, 1, "auto")]


def keys_of(dtype):
    return {f"{role}.model_args.dtype": dtype for role in ("actor_train", "reference", "critic")}


def check_collectives(folder):
    """NCCL itself has to say that it ran: a group of one gives the same numbers without it."""
    said = "".join(file.read_text() for file in folder.glob("nccl.*"))
    for collective in ("ReduceScatter", "AllGather"):
        assert f"{collective}: opCount" in said, f"one rank through NCCL ran no {collective}"


def check_deterministic(folder, replay):
    keys = replay | keys_of("bf16") | {"deterministic": "true"}
    runs = [train(folder, f"deterministic_{i}", rows=8, accumulation=1, **keys) for i in (1, 2)]
    first, second = ({file.name + role: file.read_bytes() for role in ("actor", "critic")
                      for file in (run / "checkpoints/step_000003" / role).glob("*.safetensors")} for run in runs)
    assert first and first == second, "two deterministic runs differ"


def check_layout(folder, replay, dtype, base, what, ranks, tp, cp, kind):
    run = train(folder, f"{dtype}_{ranks}_{tp}_{cp}_{kind}", ranks, rows=8 * tp * cp // ranks, accumulation=1, tp=tp, cp=cp,
                packing=PACKED.format("load_balance", 100), launch=lambda *a: roll(*a, "--communicator", kind), **replay, **keys_of(dtype))
    bound, metric_bound = BOUNDS[dtype]
    compare(run, base, f"{dtype}: {what}", bound=bound, metric_bound=metric_bound)


def main():
    if not shutil.which("nvidia-smi") or subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).returncode:
        print("skipped: nvidia-smi finds no GPU on this machine")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        replay = dict(rollout_replay=record(folder), device="cuda")
        on_cpu = train(folder, "on_cpu", rows=8, accumulation=1, rollout_replay=replay["rollout_replay"])
        os.environ.update(NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="COLL", NCCL_DEBUG_FILE=str(folder / "nccl.%p"))
        with ThreadPoolExecutor(max(1, os.cpu_count() // 4)) as pool:
            checks = [pool.submit(check_deterministic, folder, replay)]
            bases = {dtype: pool.submit(train, folder, f"base_{dtype}", rows=8, accumulation=1, **replay, **keys_of(dtype)) for dtype in BOUNDS}
            for dtype, (bound, metric_bound) in BOUNDS.items():
                compare(bases[dtype].result(), on_cpu, f"{dtype}: GPU and CPU", bound=max(bound, 1e-4), metric_bound=max(metric_bound, 1e-3))
                checks += [pool.submit(check_layout, folder, replay, dtype, bases[dtype].result(), *layout) for layout in LAYOUTS]
        for one in checks:
            one.result()
        check_collectives(folder)


main()
