#!/usr/bin/env bash
# Weak scaling on this machine: training one process against two with the same work each, in turn, one thread a process:
#   scripts/bench_scaling.sh [build/roll] [rounds]
# 32 sequences of lognormal length (mu 4.6, sigma 0.8, at most 512) a process, replayed as rollouts; one update a step, its
# gradients reduced and its optimizer's state shared. Efficiency: seconds of a step alone / seconds of a step of two.
# Needs python3 with numpy (.deps/venv has it).
set -euo pipefail
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=1
exec "${ROLL_PYTHON:-.deps/venv/bin/python}" - "${1:-build/roll}" "${2:-5}" <<'PYTHON'
import pathlib, statistics, sys, tempfile

sys.path.insert(0, "scripts")
from bench_replay import LENGTHS, make_model, prepare, step_seconds

binary, rounds = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
with tempfile.TemporaryDirectory() as work:
    folder = pathlib.Path(work)
    make_model(binary, folder / "model", hidden=256, layers=4, inner=704, heads=4, vocabulary=512)
    times = {1: [], 2: []}
    for processes in times:
        prepare(folder / str(processes), folder / "model", 512, steps=3, processes=processes)
    for _ in range(rounds):
        for processes, seconds in times.items():
            seconds.append(statistics.median(step_seconds(binary, folder / str(processes), processes)))
    one, two = (statistics.median(seconds) for seconds in times.values())
    print(f"{sum(LENGTHS)} tokens a process: {one:.2f} s a step alone, {two:.2f} s a step of two; efficiency {one / two:.2f} (wanted 0.85); by round: "
          + " ".join(f"{a / b:.2f}" for a, b in zip(times[1], times[2])))
PYTHON
