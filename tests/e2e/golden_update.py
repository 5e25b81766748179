"""An update of a pipeline over rows, held to what an oracle computed of it: shared by dpo_test.py and distill_test.py."""
import json
import pathlib
import subprocess
import sys

import one_step
from metric_words import unknown_metrics

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect

binary = pathlib.Path(sys.argv[1]).resolve()


def golden(name):
    return json.loads((pathlib.Path(__file__).resolve().parents[1] / f"golden/train/{name}.json").read_text())


def roll(*arguments, code=0):
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    if done.returncode != code:
        sys.exit(f"roll {' '.join(map(str, arguments))}\nexit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stderr if code else done.stdout


def lines_of(run):
    return [json.loads(line) for line in open(run / "metrics.jsonl")]


def near(what, ours, expected, limit):
    expect(abs(ours - expected) <= limit * max(abs(expected), 1), f"{what}: {ours}, not {expected}")


def compare(what, start, run, expected):
    """`start`: the folder of the weights before it."""
    ours = lines_of(run)[0]
    expect(not unknown_metrics(binary, ours), f"{what}: `roll metrics` knows {unknown_metrics(binary, ours)}")
    for name, value in expected["metrics"].items():
        near(f"{what}: {name}", ours[name], value, 1e-5)
    before, after = (one_step.model_weights(f) for f in (start, run / "checkpoints/step_000001/actor"))
    for name, (norm, projection) in expected["changes"].items():
        our_norm, our_projection = one_step.fingerprint(after[name] - before[name])
        near(f"{what}: change of {name}", max(abs(our_norm - norm), abs(our_projection - projection)) / norm, 0, 2e-3)
