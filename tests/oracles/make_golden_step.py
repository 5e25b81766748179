#!/usr/bin/env python3
"""Writes tests/golden/train/step.json: what the first step of tests/e2e/one_step.py must give, by oracle_step.py.

    make_golden_step.py BINARY      # needs torch and transformers; run by hand
"""
import argparse
import json
import pathlib
import sys
import tempfile

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests/e2e"))
import one_step  # noqa: E402
import oracle_step  # noqa: E402


def expected(binary, recipe):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        config = oracle_step.Keys(yaml.safe_load(one_step.prepare(binary, folder, recipe).read_text()))
        options = argparse.Namespace(rollouts=None, actor=None, critic=None, reference=None,
                                     ranks=one_step.RECIPES[recipe]["ranks"])
        experience, metrics, scales, _, models = oracle_step.compute(config, options)
        for name in one_step.RECIPES[recipe].get("without", ()):
            del metrics[name]
        changes = {}
        for role, (model, weights) in models.items():
            before = one_step.model_weights(weights)
            after = {k: p.detach().numpy() for k, p in model.named.items()}
            changes[role] = {k: one_step.fingerprint(after[k] - before[k]) for k in sorted(after)}
        forwards = {key: [round(x, 9) for part in experience[key] for x in part.tolist()] for key in one_step.FORWARDS if key in experience}
        return {"metrics": metrics, "scales": {k: v for k, v in scales.items() if k in metrics}, "changes": changes, "forwards": forwards}


binary = pathlib.Path(sys.argv[1]).resolve()
golden = {recipe: expected(binary, recipe) for recipe in one_step.RECIPES}
(SOURCE / "tests/golden/train/step.json").write_text(json.dumps(golden, indent=1) + "\n")
