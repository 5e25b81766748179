#!/usr/bin/env python3
"""Training does not depend on the layout: replays one set of rollouts under ranks x accumulation x packing x micro-batch
sizes and compares weights and metrics. Argument: the roll binary."""
import json
import pathlib
import subprocess
import tempfile

from safetensors.numpy import load_file

from replay import DEFAULTS, PACKED, binary, compare, record, train, weights
from rollouts import rollout_text


MODES = [("seq-mean-token-mean", ""), ("token-mean", ""), ("seq-mean-token-sum", ""), ("prompt-mean", ""),
         ("constant", "loss_aggregation_divisor: 20")]
# tis counts ratios above 1 as clipped, and before the first update these are 1 but for rounding, of which shared prompts have their own.
VARIANTS = [{"actor_train.pg_variant": "vanilla"}, {"actor_train.pg_variant": "tis", "actor_train.share_prompts": "false"}, {"actor_train.pg_variant": "topr"},
            {"actor_train.pg_variant": "cispo"}, {"actor_train.pg_variant": "kimi15"}, {"actor_train.pg_variant": "sapo"}, {"actor_train.pg_variant": "dppo_kl"}, {"importance_sampling": "seq"},
            {"length_loss_weight": "true", "difficulty_loss_weight": "true"}, {"dual_clip_loss": "true", "dual_clip_c": "1.0001"},
            {"actor_train.pg_variant": "gmpo", "actor_train.gmpo_epsilon_low": "0.0001", "actor_train.gmpo_epsilon_high": "0.0001"},
            {"positive_loss_coef": "0.1"}, {"lambd_critic": "1.0", "lambd_alpha": "0.2"},
            {"train_infer_correction": "{is_weight: {enabled: true, weight_type: sequence}, filters: [{enabled: true, ratio_low: 0.95, ratio_high: 1.05}]}"}]


ESTIMATORS = ["rloo", "opo", "gpg", "reinforce_plus_plus", "reinforce_plus_plus_baseline", "remax"]


def check_estimators(folder, rollouts):
    """Each gives the same on two packed ranks, and something else than rewards as they are."""
    with_baselines = folder / "with_baselines"
    with_baselines.mkdir()
    for file in rollouts.glob("step_*.jsonl"):
        lines = [json.loads(line) for line in open(file)]
        for i, line in enumerate(line for line in lines[:] if line["sample_index"] == 0):
            lines.append(line | dict(sample_index=4, is_baseline=True, score=(i * 3 % 5) / 4, reward=(i * 3 % 5) / 4))
        (with_baselines / file.name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    replay = dict(rollout_replay=with_baselines, whiten_advantages="false")
    plain = train(folder, "base_reinforce", estimator="reinforce", rows=8, accumulation=1, **replay)
    for estimator in ESTIMATORS:
        flags = {key: value for key, value in replay.items() if key == "rollout_replay" or not estimator.startswith("reinforce")}
        base = train(folder, f"base_{estimator}", estimator=estimator, rows=8, accumulation=1, **flags)
        run = train(folder, estimator, ranks=2, estimator=estimator, rows=2, accumulation=2, packing=PACKED.format("load_balance", 90), **flags)
        compare(run, base, estimator)
        assert any((tensor != weights(plain)[n]).any() for n, tensor in weights(base).items()), f"{estimator} is reinforce"


def check_empty(folder, rollouts):
    """A step whose responses all carry no loss trains no policy, breaks nothing, and is counted."""
    masked = folder / "masked"
    masked.mkdir()
    for file in rollouts.glob("step_*.jsonl"):
        lines = [json.loads(line) | {"finish_reason": "length"} for line in open(file)]
        (masked / file.name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    for ranks in (1, 2):
        run = train(folder, f"empty_{ranks}", ranks, rows=8 // ranks, accumulation=1, rollout_replay=masked)
        before, after = load_file(folder / "model/model.safetensors"), load_file(run / "checkpoints/step_000003/actor/model.safetensors")
        assert all((after[name] == tensor).all() for name, tensor in before.items()), "weights moved without a token of loss"
        steps = [json.loads(line) for line in open(run / "metrics.jsonl")]
        assert [s["actor/empty_mini_batches"] for s in steps] == [2, 2, 2] and "actor/pg_loss" not in steps[0], steps[0]
        assert all(s["critic/loss"] > 0 for s in steps), "the critic learns from every response"
    print("mini-batches without a token of loss are counted and harmless")


def check_other_size(folder, rollouts):
    """The updates of a step are counted before its rollouts are read, so these must be as many as the configuration says."""
    def refused(*arguments):
        done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, timeout=300)
        assert done.returncode == 2 and "step 1 holds 4 prompts: must be rollout_batch_size" in done.stderr, done.stderr[-2000:]

    for prompts in (2, 8):
        train(folder, f"{prompts}_prompts", rows=8, accumulation=1, launch=refused, rollout_batch_size=prompts, rollout_replay=rollouts)
    print("a replay of another size than the step's is refused")


def steps_and_rates(run):
    return [(line["step"], line["actor/lr"], line["critic/lr"]) for line in map(json.loads, open(run / "metrics.jsonl"))]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        replay = dict(rollout_replay=record(folder))
        for mode, extra in MODES:
            base = train(folder, f"base_{mode}", mode=mode, extra=extra, rows=8, accumulation=1, **replay)
            cases = [(1, 2, 4, "", 0), (2, 4, 1, "", 0), (2, 1, 4, "none", 100), (1, 8, 1, "load_balance", 90), (4, 1, 2, "", 0)]
            for ranks, rows_, accumulation, algorithm, budget in cases:
                packing = PACKED.format(algorithm, budget) if algorithm else ""
                what = f"{mode} n={ranks} rows={rows_} accumulation={accumulation} {algorithm or 'not packed'}"
                run = train(folder, f"{mode}_{ranks}_{rows_}_{accumulation}", ranks, mode, "gae", rows_, accumulation, packing, extra, **replay)
                compare(run, base, what, terms=24 if mode == "seq-mean-token-sum" else 1)
        plain = folder / "base_seq-mean-token-mean"
        for variant in VARIANTS:
            name = "_".join(variant.values()).translate(str.maketrans("{}[]: ,", "_______"))[:60]
            base = train(folder, f"base_{name}", rows=8, accumulation=1, **replay, **variant)
            run = train(folder, name, ranks=2, rows=2, accumulation=2, packing=PACKED.format("load_balance", 90), **replay, **variant)
            compare(run, base, name)
            same = all((tensor == weights(plain)[n]).all() for n, tensor in weights(run).items() if n.startswith("actor."))
            assert not same, f"{variant} changed nothing"
        # One configuration, any number of ranks: train_batch_size counts the sequences of all of them.
        whole = {f"{role}.training_args.train_batch_size": 8 for role in ("actor_train", "critic")}
        base, *runs = (train(folder, f"defaults_{n}", n, rows=8, accumulation=1, adam=DEFAULTS, **replay, **whole) for n in (1, 2, 4))
        for run, n in zip(runs, (2, 4)):
            compare(run, base, f"train_batch_size, default epsilon, n={n}")
            assert steps_and_rates(run) == steps_and_rates(base), f"n={n}: other updates or learning rates"
        check_estimators(folder, replay["rollout_replay"])
        check_empty(folder, replay["rollout_replay"])
        check_other_size(folder, replay["rollout_replay"])
        # Sampling: one and two ranks give the same responses.
        one, two = (train(folder, f"sampled_{n}", n, rows=8, accumulation=1, max_steps=1, **whole) for n in (1, 2))
        same = rollout_text(one, 1) == rollout_text(two, 1)
        assert same, "1 and 2 ranks sampled different responses"
        print("1 and 2 ranks sample the same bytes")


main()
