#!/usr/bin/env python3
"""Roles on devices of their own: shared, partly shared and apart, each with its own layout, give the weights and metrics of one
rank, and sample the same responses. Argument: the roll binary."""
import json
import pathlib
import re
import sys
import tempfile

import numpy
import replay
from safetensors.numpy import load_file
from placements import PLACEMENTS, ROLES, settings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines

def lines_of(run, step):
    return rollout_lines(run, step)


def responses(run, step):
    return [(line["response_ids"], line["score"]) for line in lines_of(run, step)]


def compare_dumps(run, base, name):
    """What was trained on, token by token, and the first update's gradients of both roles."""
    for step in (1, 2, 3):
        mine, theirs = ([json.loads(line) for line in open(r / f"experience/step_{step:06}.jsonl")] for r in (run, base))
        expect([line.keys() for line in mine] == [line.keys() for line in theirs], f"{name}: step {step} is dumped with all that one rank dumps")
        far = {key for a, b in zip(mine, theirs) for key in b
               if not (numpy.allclose(a[key], b[key], rtol=0, atol=2e-5) if isinstance(b[key], list) and key != "weights" else a[key] == b[key])}
        expect(not far, f"{name}: step {step}: dumped as on one rank: {sorted(far)}")
    mine, theirs = (load_file(r / "experience/gradients_000001.safetensors") for r in (run, base))
    expect(mine.keys() == theirs.keys() and {key.split(".")[0] for key in mine} == {"actor", "critic"}, f"{name}: gradients of both roles are dumped")
    far = {key for key in theirs if not numpy.allclose(mine[key], theirs[key], rtol=1e-4, atol=2e-6)}
    expect(not far, f"{name}: gradients are those of one rank: {sorted(far)}")
    trace = json.loads((run / "experience/trace_000001.json").read_text())
    expect({"actor", "critic"} <= set(re.findall(r"actor|critic", json.dumps(trace))), f"{name}: both roles are in the trace")


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    rollouts = replay.record(folder)
    base = replay.train(folder, "base", rows=2, accumulation=4, rollout_replay=rollouts, dump_experience="true")
    sampled = replay.train(folder, "sampled", rows=2, accumulation=4)
    for name, placement in PLACEMENTS.items():
        ranks = len({device for role in ROLES for device in placement[role]})
        dumps = "apart" in name  # where nobody has all that is dumped
        run = replay.train(folder, name, ranks, rows=2, rollout_replay=rollouts, dump_experience=str(dumps).lower(), **settings(placement))
        replay.compare(run, base, name, bound=2e-6)
        if dumps:
            compare_dumps(run, base, name)
        run = replay.train(folder, name + ", sampled", ranks, rows=2, **settings(placement))
        expect(responses(run, 1) == responses(sampled, 1), f"{name}: the first step's responses are those of one rank")
        if max(len(placement[role]) for role in ROLES) == 1:  # no sum has another order, so no bit of a weight differs
            for step in (2, 3):
                expect(responses(run, step) == responses(sampled, step), f"{name}: step {step}'s responses are those of one rank")
        keys = [set(json.loads(open(r / "metrics.jsonl").readlines()[-1])) for r in (run, sampled)]
        missing = {key for key in keys[1] - keys[0] if not key.startswith(("comm/", "memory/"))}
        expect(not missing, f"{name}: metrics that one rank has and this run has not: {sorted(missing)}")
    # A run goes on under another placement.
    first, second = PLACEMENTS["apart"], PLACEMENTS["partly shared"]
    run = replay.train(folder, "resumed", 4, rows=2, rollout_replay=rollouts, max_steps=2, **settings(first))
    replay.train(folder, "resumed", 3, rows=2, rollout_replay=rollouts, resume_from_checkpoint="true", **settings(second))
    replay.compare(run, base, "apart, then partly shared", bound=2e-6)
    # Judges and reward models on devices where nobody samples, and a filter that waits for them.
    replay.make_model(folder, "judge", "qwen2", "--hidden", 48)
    judged = {"rewards.math_rule.type": "llm_judge", "rewards.math_rule.judge_score_pattern": "'([0-9])'", "rewards.math_rule.judge_score_max": 9,
              "rewards.math_rule.on_reward_error": "zero", "rewards.math_rule.judge_model_type": "inference", "max_steps": 2,
              "rewards.math_rule.model_args": f"{{model_name_or_path: {folder / 'judge'}}}", "rewards.math_rule.data_args": "{template: chatml}",
              "rewards.math_rule.generating_args": "{max_new_tokens: 40, temperature: 1.0}",
              "rewards.math_rule.query_filter_config": "{type: std_filter, filter_args: {std_threshold: 0.35}}"}
    base = replay.train(folder, "judged", rows=2, accumulation=4, **judged)
    for name, devices in {"judge apart": [4], "judge on two of others": [2, 3], "judge beside the sampler": [1, 4]}.items():
        ranks = len({0, 1, 2, 3, *devices})
        run = replay.train(folder, name, ranks, rows=2, **judged, **settings(PLACEMENTS["apart"]), **{"rewards.math_rule.device_mapping": str(devices)})
        for step in (1, 2):
            expect(responses(run, step) == responses(base, step), f"{name}: step {step} is that of one rank")
        dropped = [json.loads(open(r / "metrics.jsonl").readline())["rollout/groups_dropped"] for r in (run, base)]
        expect(dropped[0] == dropped[1] > 0, f"{name}: groups are dropped: {dropped}")
finish("placement")
