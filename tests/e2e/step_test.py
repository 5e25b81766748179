#!/usr/bin/env python3
"""A training step gives the metrics and the weights that an independent float64 computation gives
(tests/golden/train/step.json, by scripts/make_golden_step.py). Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import one_step

binary = pathlib.Path(sys.argv[1]).resolve()
golden = json.loads((pathlib.Path(__file__).resolve().parents[1] / "golden/train/step.json").read_text())
failures = []


def check(what, error, limit):
    if not error <= limit:
        failures.append(f"{what}: off by {error:.2e}, limit {limit:.0e}")


def compare(recipe, folder, expected):
    ours = json.loads(open(folder / "run/metrics.jsonl").readline())
    for name, value in expected["metrics"].items():
        scale = max(abs(value), expected["scales"].get(name, 0.0), 1e-7)
        check(f"{recipe}: {name} = {ours.get(name)}, not {value:.9g}", abs(ours.get(name, 1e9) - value) / scale, 2e-5)
    for role, tensors in expected["changes"].items():
        before = one_step.model_weights(folder / role)
        after = one_step.model_weights(folder / "run/checkpoints/step_000001" / role)
        for name, (norm, projection) in tensors.items():
            our_norm, our_projection = one_step.fingerprint(after[name] - before[name])
            error = max(abs(our_norm - norm), abs(our_projection - projection)) / max(norm, 1e-9)
            check(f"{recipe}: change of {role} {name}", error, 2e-3)


for recipe, expected in golden.items():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        config = one_step.prepare(binary, folder, recipe)
        ranks = str(one_step.RECIPES[recipe]["ranks"])
        done = subprocess.run([binary, "train", "--config", config, "-n", ranks, "--device", "cpu"], capture_output=True, text=True,
                              timeout=300)
        if done.returncode:
            sys.exit(f"{recipe}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
        compare(recipe, folder, expected)
        print(f"{recipe}: {len(expected['metrics'])} metrics and the changes of {', '.join(expected['changes'])} compared", flush=True)
sys.exit("\n".join(f"FAILED {f}" for f in failures) if failures else 0)
