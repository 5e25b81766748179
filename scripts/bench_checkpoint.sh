#!/usr/bin/env bash
# What a checkpoint costs training: a model of 29.9 M parameters, float32, one update a step on 32 sequences of long-tailed length;
#   scripts/bench_checkpoint.sh [build/roll] [steps]
# Every third step is saved: weights and optimizer, 0.36 GB. Compared are, in the same run, the seconds from the end of a step's training to the end of
# the next one's: where a save begins between them (its copying, and its writing beside the step) with the mean of the ones before and after, where
# none does, so that a machine that gets slower or faster doesn't count. Needs a Python with numpy (BENCH_PYTHON). THREADS: 2.
set -euo pipefail
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=${THREADS:-2}
exec "${BENCH_PYTHON:-python3}" - "${1:-build/roll}" "${2:-61}" <<'PYTHON'
import pathlib, statistics, struct, subprocess, sys, tempfile

sys.path.insert(0, "scripts")
from bench_replay import make_model, prepare

binary, steps = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
EVERY = 3


def event_times(folder):
    """Wall-clock seconds of the events after a file's first: TFRecord frames whose payload begins with the time."""
    (file,) = folder.iterdir()
    data, times, at = file.read_bytes(), [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        times.append(struct.unpack_from("<d", data, at + 12 + 1)[0])
        at += 12 + size + 4
    return times[1:]


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    make_model(binary, folder / "model", 512, 8, 1408, 8, 8192)
    prepare(folder / "job", folder / "model", 8192, steps)
    subprocess.run([binary, "train", "--config", folder / "job/run.yaml", "--device", "cpu", f"save_steps={EVERY}", "max_ckpt_to_keep=2",
                    "track_with=[tensorboard]"], check=True, capture_output=True)
    times = event_times(folder / "job/run/tensorboard")
    gaps = {step: times[step - 1] - times[step - 2] for step in range(3, steps + 1)}  # the first step warms up
    saved = [step for step in gaps if (step - 1) % EVERY == 0 and step - 1 in gaps and step + 1 in gaps]
    more = [100 * (2 * gaps[step] / (gaps[step - 1] + gaps[step + 1]) - 1) for step in saved]
    low, median, high = statistics.quantiles(more)
    print(f"a step with a save takes {statistics.median(gaps[step] for step in saved):.3f} s, {median:+.1f} % (quartiles {low:+.1f} %, {high:+.1f} %; "
          f"{len(saved)} saves) of what its neighbours take")
PYTHON
