#!/usr/bin/env python3
"""Roles on devices of their own: shared, partly shared and apart, each with its own layout, give the weights and metrics of one
rank, and sample the same responses. Argument: the roll binary."""
import json
import pathlib
import sys
import tempfile

import replay

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines

ROLES = ("actor_train", "actor_infer", "reference", "critic")
# Devices of the roles, and sizes that are not 1. A mini-batch is 8 sequences in all of them.
PLACEMENTS = {
    "shared": dict(actor_train=[0, 1], actor_infer=[0, 1], reference=[0, 1], critic=[0, 1]),
    "sampler on fewer": dict(actor_train=[0, 1], actor_infer=[0], reference=[0, 1], critic=[0, 1]),
    "partly shared": dict(actor_train=[0, 1], actor_infer=[1, 2], reference=[2], critic=[1, 2]),
    "apart": dict(actor_train=[0], actor_infer=[1], reference=[2], critic=[3]),
    "apart, numbered from 4, the policy last": dict(actor_train=[7], actor_infer=[5], reference=[4], critic=[6]),
    "apart, data ranks": dict(actor_train=[2, 3], actor_infer=[0, 1], reference=[0, 1], critic=[2, 3]),
    "apart, tensor ranks": dict(actor_train=[0, 1], actor_infer=[2, 3], reference=[1, 2], critic=[2, 3], tp=dict(actor_train=2, reference=2, critic=2)),
    "apart, tensor ranks that sample": dict(actor_train=[0], actor_infer=[1, 2], reference=[0], critic=[3], tp=dict(actor_infer=2)),
    "shifted tensor groups": dict(actor_train=[0, 1, 2, 3], actor_infer=[1, 2], reference=[3], critic=[0, 3], tp=dict(actor_train=2, actor_infer=2)),
    "apart, context ranks": dict(actor_train=[0, 1], actor_infer=[0, 1, 2], reference=[2], critic=[2, 3], cp=dict(actor_train=2, critic=2)),
}


def settings(placement):
    values = {}
    for role in ROLES:
        tp, cp = placement.get("tp", {}).get(role, 1), placement.get("cp", {}).get(role, 1)
        values[f"{role}.device_mapping"] = str(placement[role])
        values[f"{role}.strategy_args"] = f"{{strategy_config: {{tensor_model_parallel_size: {tp}, context_parallel_size: {cp}}}}}"
        if role in ("actor_train", "critic"):
            data_ranks = len(placement[role]) // (tp * cp)
            values[f"{role}.training_args.gradient_accumulation_steps"] = 4 // data_ranks
    return values


def lines_of(run, step):
    return rollout_lines(run, step)


def responses(run, step):
    return [(line["response_ids"], line["score"]) for line in lines_of(run, step)]


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    rollouts = replay.record(folder)
    base = replay.train(folder, "base", rows=2, accumulation=4, rollout_replay=rollouts)
    sampled = replay.train(folder, "sampled", rows=2, accumulation=4)
    for name, placement in PLACEMENTS.items():
        ranks = len({device for role in ROLES for device in placement[role]})
        run = replay.train(folder, name, ranks, rows=2, rollout_replay=rollouts, **settings(placement))
        replay.compare(run, base, name, bound=2e-6)
        run = replay.train(folder, name + ", sampled", ranks, rows=2, eval_steps=2, **settings(placement))
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
