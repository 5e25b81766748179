#!/usr/bin/env python3
"""Sampling that runs ahead of training: no prompt and no token is lost or comes twice, none is staler than allowed, what was trained
can be replayed to the bit, and a run that goes on loses nothing. Argument: the roll binary."""
import json
import math
import pathlib
import sys
import tempfile

import replay

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines

STEPS, GROUPS = 6, 4
APART = {"actor_train.device_mapping": "[0, 1]", "reference.device_mapping": "[1]", "critic.device_mapping": "[0, 1]",
         "actor_infer.device_mapping": "[2, 3]"}
TENSOR = {"actor_infer.strategy_args": "{strategy_config: {tensor_model_parallel_size: 2}}"}
LATER = {"actor_train.device_mapping": "[2, 3]", "reference.device_mapping": "[3]", "critic.device_mapping": "[2, 3]",
         "actor_infer.device_mapping": "[0, 1]"}

RUNS = {"r = 0.3": (0.3, {}), "r = 1": (1, {}), "r = 2, those that sample first": (2, LATER), "r = 1.5, a sampler of two ranks": (1.5, TENSOR)}

ONLY_ON_ALL_RANKS = ("r = 0.3", "r = 1")  # the others are replayed on one rank too


def validated(folder):
    return {"eval_steps": 2, "validation.data_args": f"{{file_name: [{folder / 'rows.jsonl'}], prompt: prompt}}"}


def train(folder, name, ratio, ranks=4, steps=STEPS, rows=2, accumulation=2, **keys):
    return replay.train(folder, name, ranks, rows=rows, accumulation=accumulation, max_steps=steps, async_generation_ratio=ratio, **(APART | keys))


def prompts(run, step):
    return [(line["group_index"], line["sample_index"], line["prompt_id"]) for line in rollout_lines(run, step)]


def responses(run, step):
    return [(line["response_ids"], line["score"], weights_of(line)) for line in rollout_lines(run, step)]


def metrics(run):
    return [json.loads(line) for line in open(run / "metrics.jsonl")]


def weights_of(line):
    return line.get("weights") or [[line["step"] - 1, len(line["response_ids"])]]


def check_weights(name, run, ratio):
    stale_tokens = 0
    for step, told in zip(range(1, STEPS + 1), [m for m in metrics(run) if "rollout/staleness/max" in m]):
        ages, stale_groups = [], {}
        for line in rollout_lines(run, step):
            runs = weights_of(line)
            expect(sum(tokens for _, tokens in runs) == len(line["response_ids"]), f"{name}: every token has its weights")
            expect(runs == sorted(runs) and len({version for version, _ in runs}) == len(runs), f"{name}: weights only get newer: {runs}")
            ages += [step - 1 - version for version, tokens in runs for _ in range(tokens)]
            for version, _ in runs:
                stale_groups.setdefault(step - 1 - version, set()).add(line["group_index"])
        expect(min(ages) >= 0 and max(ages) <= min(math.ceil(ratio), step - 1), f"{name}: step {step} is too stale: {max(ages)}")
        most = {age: int(GROUPS * min(1, ratio - age + 1) + 1e-9) for age in stale_groups if age > 0}
        expect(all(len(stale_groups[age]) <= most[age] for age in most), f"{name}: step {step} has stale groups {stale_groups}")
        expect(told["rollout/staleness/max"] == max(ages), f"{name}: step {step}'s oldest token as a metric")
        expect(abs(told["rollout/staleness/mean"] - sum(ages) / len(ages)) < 1e-6, f"{name}: step {step}'s mean age as a metric")
        expect(abs(told["rollout/stale_tokens"] - sum(age > 0 for age in ages) / len(ages)) < 1e-6, f"{name}: step {step}'s stale share")
        expect(told["token/response_length/mean"] * GROUPS * 4 == len(ages), f"{name}: step {step} trains on what was sampled")
        stale_tokens += sum(age > 0 for age in ages)
    expect(stale_tokens > 0, f"{name}: nothing was sampled ahead")


def same_bits(name, run, other, steps=STEPS):
    files = [(r / f"checkpoints/step_{steps:06}" / role / "model.safetensors").read_bytes() for r in (run, other) for role in ("actor", "critic")]
    expect(files[:2] == files[2:], f"{name}: weights are the same to the bit")


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    replay.record(folder)
    base = train(folder, "base", 0)
    for name, (ratio, keys) in RUNS.items():
        run = train(folder, name, ratio, **validated(folder), **keys)
        expect(responses(run, 1) == responses(base, 1), f"{name}: the first step is the synchronous one's")
        for step in range(1, STEPS + 1):
            expect(prompts(run, step) == prompts(base, step), f"{name}: step {step} has its prompts")
        check_weights(name, run, ratio)
        expect(len([m for m in metrics(run) if "val_correct/all/mean" in m]) == 4, f"{name}: it validates beside")
        again = train(folder, name + ", replayed", ratio, rollout_replay=run, **keys)
        same_bits(f"{name}, replayed", run, again)
        if name in ONLY_ON_ALL_RANKS:
            continue
        replay.give_rewards(run / "rollouts")
        again = train(folder, name + ", three steps replayed", ratio, steps=3, rollout_replay=run, **keys)
        one = replay.train(folder, name + ", on one rank", rows=2, accumulation=4, rollout_replay=run, enable_old_logprobs_recompute="true")
        replay.compare(one, again, f"{name}, replayed on one rank", bound=2e-6)
    # One update a step reads no old log-probs: none are computed, and the weights are those with them.
    one_update = {"rows": 2, "accumulation": 4, "steps": 3, "add_token_level_kl": "false"}
    run = train(folder, "one update", 1, **one_update)
    steps = [m for m in metrics(run) if "actor/grad_norm" in m]
    expect(not any("time/old_log_probs" in m for m in steps), "one update: no forward for old log-probs")
    expect(all(m.get("actor/sampler_log_prob_gap/mean", 0) > 0 for m in steps), "one update: the gap to the sampler is told all the same")
    expect(all(abs(m["actor/ratio_mean"] - 1) < 1e-6 for m in steps), "one update: ratios are 1")
    asked = train(folder, "one update, old log-probs asked for", 1, rollout_replay=run, enable_old_logprobs_recompute="true", **one_update)
    told = [m for m in metrics(asked) if "actor/grad_norm" in m]
    expect(all("time/old_log_probs" in m for m in told), "one update: old log-probs where asked for")
    expect(all(abs(a["actor/sampler_log_prob_gap/mean"] - b["actor/sampler_log_prob_gap/mean"]) < 1e-6 for a, b in zip(steps, told)), "one update: the gap is the same")
    same_bits("one update", run, asked, steps=3)
    # A run that ends and goes on: what was begun ahead is sampled anew, and each step has its prompts.
    run = train(folder, "resumed", 2, steps=3)
    train(folder, "resumed", 2, resume_from_checkpoint="true")
    for step in range(1, STEPS + 1):
        expect(prompts(run, step) == prompts(base, step), f"resumed: step {step} has its prompts")
    # A filter that drops groups, and a judge that waits for all of a step: both on one rank and ahead, with validations between.
    replay.make_model(folder, "judge", "qwen2", "--hidden", 48)
    filtered = {"rewards.math_rule.query_filter_config": "{type: std_filter, filter_args: {std_threshold: 0.35}}",
                "rewards.math_rule.type": "llm_judge", "rewards.math_rule.judge_score_pattern": "'([0-9])'", "rewards.math_rule.judge_score_max": 9,
                "rewards.math_rule.on_reward_error": "zero", "rewards.math_rule.judge_model_type": "inference",
                "rewards.math_rule.model_args": f"{{model_name_or_path: {folder / 'judge'}}}", "rewards.math_rule.data_args": "{template: chatml}",
                "rewards.math_rule.generating_args": "{max_new_tokens: 40, temperature: 1.0}", "is_use_additional_prompts": "true"}
    for name, device in {"judge apart": 4, "judge beside the sampler": 3, "judge beside the trainer": 0}.items():
        keys = filtered | {"rewards.math_rule.device_mapping": f"[{device}]", **validated(folder)}
        run = train(folder, name, 1, ranks=5 if device == 4 else 4, **keys)
        check_weights(name, run, 1)
        seen = [prompt for step in range(1, STEPS + 1) for prompt in {(step, p) for _, _, p in prompts(run, step)}]
        expect(len(seen) == GROUPS * STEPS, f"{name}: every step has its groups")
        expect(sum(m["rollout/groups_dropped"] for m in metrics(run) if "rollout/groups_dropped" in m) > 0, f"{name}: groups are dropped")
finish("ahead")
