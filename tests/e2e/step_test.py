#!/usr/bin/env python3
"""A training step gives the metrics and the weights that an independent float64 computation gives
(tests/golden/train/step.json, by tests/oracles/make_golden_step.py). Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

import one_step
from metric_words import unknown_metrics

binary = pathlib.Path(sys.argv[1]).resolve()
golden = json.loads((pathlib.Path(__file__).resolve().parents[1] / "golden/train/step.json").read_text())
failures = []
# Layouts under which a recipe must give the same, as ranks, cp, tp; the number of data ranks is the recipe's.
LAYOUTS = {"ppo": [(2, 1, 1), (4, 2, 1), (4, 1, 2), (8, 2, 2), (8, 1, 4)],
           "turns": [(2, 1, 1), (4, 2, 1)],
           "contexts": [(2, 1, 1), (4, 2, 1), (4, 1, 2)],
           "distillation": [(2, 1, 1), (4, 2, 1)], "distillation and rewards": [(2, 1, 1), (4, 1, 2)]}


def check(what, error, limit):
    if not error <= limit:
        failures.append(f"{what}: off by {error:.2e}, limit {limit:.0e}")


def compare(recipe, folder, expected):
    ours = json.loads(open(folder / "run/metrics.jsonl").readline())
    failures.extend(f"{recipe}: `roll metrics` does not know {name}" for name in unknown_metrics(binary, ours))
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


def compare_forwards(recipe, folder, expected):
    dumped = [json.loads(line) for line in open(folder / "run/experience/step_000001.jsonl")] if expected else []
    for key, values in expected.items():
        ours = numpy.concatenate([line[key] for line in dumped])
        check(f"{recipe}: {key}", float(numpy.abs(ours - numpy.array(values)).max()), 1e-5)


def run(recipe, expected, ranks, cp, tp):
    what = f"{recipe} on {ranks} ranks, cp {cp}, tp {tp}"
    teachers = [f"teacher.{name}" for name in one_step.RECIPES[recipe].get("teachers", {})]
    strategy = [f"{role}.strategy_args.strategy_config.{key}={size}" for role in ("actor_train", "reference", "critic", *teachers)
                for key, size in (("context_parallel_size", cp), ("tensor_model_parallel_size", tp))]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        config = one_step.prepare(binary, folder, recipe)
        done = subprocess.run([binary, "train", "--config", config, "-n", str(ranks), "--device", "cpu", *strategy], capture_output=True,
                              text=True, timeout=300)
        if done.returncode:
            sys.exit(f"{what}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
        compare(what, folder, expected)
        compare_forwards(what, folder, expected["forwards"] if "without" not in one_step.RECIPES[recipe] else {})
        print(f"{what}: {len(expected['metrics'])} metrics, {', '.join(expected['forwards'])} and the changes of "
              f"{', '.join(expected['changes'])} compared", flush=True)


for recipe, expected in golden.items():
    for layout in LAYOUTS.get(recipe, [(one_step.RECIPES[recipe]["ranks"], 1, 1)]):
        run(recipe, expected, *layout)
sys.exit("\n".join(f"FAILED {f}" for f in failures) if failures else 0)
