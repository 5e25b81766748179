#!/usr/bin/env python3
"""Training does not depend on how ranks share data, sequences and weights: replays one set of rollouts under data x context x
tensor ranks and compares weights and metrics with one process. Argument: the roll binary."""
import json
import pathlib
import statistics
import sys
import tempfile

from replay import PACKED, compare, make_model, record, train, weights
from rollouts import rollout_lines, rollout_steps

MESHES = ["211", "121", "112", "221", "212", "122", "411", "141", "114", "222"]  # dp, cp, tp
BOUND = 2e-6


# Every role on its own layout, and the optimizer held whole by each rank.
ROLES = {"reference.strategy_args.strategy_config.tensor_model_parallel_size": 1, "critic.strategy_args.strategy_config.context_parallel_size": 2,
         "critic.strategy_args.strategy_config.tensor_model_parallel_size": 1}
WHOLE = {f"{role}.strategy_args.strategy_config.use_distributed_optimizer": "false" for role in ("actor_train", "critic")}
RECOMPUTED = {f"{role}.strategy_args.strategy_config.recompute_granularity": "full" for role in ("actor_train", "critic")}


def check_meshes(folder, model, meshes, replay):
    base = train(folder, f"{model}_111", rows=8, accumulation=1, model=model, **replay)
    for mesh in meshes:
        dp, cp, tp = map(int, mesh)
        for algorithm in ("none", "load_balance"):
            run = train(folder, f"{model}_{mesh}_{algorithm}", dp * cp * tp, rows=8 // dp, accumulation=1, tp=tp, cp=cp, model=model,
                        packing=PACKED.format(algorithm, 100), **replay)
            compare(run, base, f"{model} dp {dp} cp {cp} tp {tp} {algorithm}", bound=BOUND)
    return base


def check_variants(folder, base, replay):
    cases = {"reference tp 1, critic cp 2, actor tp 2": (4, 2, 1, ROLES | {"critic.training_args.per_device_train_batch_size": 4}),
             "whole optimizers, dp 2 tp 2": (4, 2, 1, WHOLE), "recomputed, cp 2 tp 2": (4, 2, 2, RECOMPUTED)}
    for what, (ranks, tp, cp, flags) in cases.items():
        run = train(folder, what.translate(str.maketrans(", ", "__")), ranks, rows=8 * tp * cp // ranks, accumulation=1, tp=tp, cp=cp, **replay, **flags)
        compare(run, base, what, bound=BOUND)


def check_whole_sequences(folder, replay):
    """What a loss takes of a whole sequence, where a rank has a part of it."""
    flags = {"actor_train.pg_variant": "gmpo", "actor_train.gmpo_epsilon_high": 0.001, "positive_loss_coef": 0.1}
    base = train(folder, "gmpo", rows=8, accumulation=1, **replay, **flags)
    run = train(folder, "gmpo_cp_tp", 4, rows=8, accumulation=1, tp=2, cp=2, **replay, **flags)
    compare(run, base, "gmpo and right responses, cp 2 tp 2", bound=BOUND)


def check_token_baselines(folder, replay):
    """A baseline of each token of a group, whose responses lie on several ranks, from what the ranks of a model know together of the vocabulary."""
    flags = {"train_infer_correction.is_weight.enabled": "true", "train_infer_correction.is_weight.upper_bound": 1.05}
    base = train(folder, "otb", estimator="optimal_token_baseline", rows=8, accumulation=1, **replay, **flags)
    plain = train(folder, "otb_other", estimator="reinforce", rows=8, accumulation=1, **replay, **flags)
    assert any((weights(base)[name] != tensor).any() for name, tensor in weights(plain).items()), "the baselines change nothing"
    for mesh in ("411", "122", "212"):
        dp, cp, tp = map(int, mesh)
        run = train(folder, f"otb_{mesh}", 4, estimator="optimal_token_baseline", rows=8 // dp, accumulation=1, tp=tp, cp=cp,
                    packing=PACKED.format("load_balance", 100), **replay, **flags)
        compare(run, base, f"token baselines, dp {dp} cp {cp} tp {tp}", bound=BOUND)


def normal(numbers):
    return [(x - statistics.mean(numbers)) / (statistics.stdev(numbers) + 1e-6) for x in numbers]


def check_decoupled(folder, replay):
    """Rewards of several parts: each normalised over its group, their sum over the step, whoever has the responses."""
    rollouts = folder / "parts"
    rollouts.mkdir()
    for file in pathlib.Path(replay["rollout_replay"]).glob("step_*.jsonl"):
        lines = [json.loads(line) for line in open(file)]
        for i, line in enumerate(lines):
            parts = [[1, (i * 7 % 5) / 4], [-0.5, i % 3]]
            line |= dict(reward=sum(w * r for w, r in parts), reward_detail=dict(parts=parts))
        (rollouts / file.name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    flags = dict(rollout_replay=rollouts, whiten_advantages="false", add_token_level_kl="false", dump_experience="true")
    base = train(folder, "gdpo", estimator="gdpo", rows=8, accumulation=1, **flags)
    lines = [json.loads(line) for line in open(base / "experience/step_000001.jsonl")]
    sums = [0.0] * len(lines)
    for k, weight in enumerate((1, -0.5)):
        for first in range(0, len(lines), 4):
            group = normal([line["reward_detail"]["parts"][k][1] for line in lines[first:first + 4]])
            sums[first:first + 4] = [s + weight * x for s, x in zip(sums[first:first + 4], group)]
    for line, expected in zip(lines, normal(sums), strict=True):
        assert all(abs(reward - expected) < 1e-6 for reward in line["returns"]), (line["returns"], expected)
    for mesh in ("411", "212"):
        dp, cp, tp = map(int, mesh)
        run = train(folder, f"gdpo_{mesh}", 4, estimator="gdpo", rows=8 // dp, accumulation=1, tp=tp, cp=cp, packing=PACKED.format("load_balance", 100), **flags)
        compare(run, base, f"rewards of several parts, dp {dp} cp {cp} tp {tp}", bound=BOUND)


def check_sampling(folder):
    """The sampler on its own tensor ranks, equal to the trainer's or not: the same responses of three steps, between which the
    weights change. (Rewards of random responses are all 0, so what is learnt is mostly rounding: weights are not compared.)"""
    rollouts = {}
    for ranks, tp, sampler_tp in ((1, 1, 1), (2, 2, 2), (2, 1, 2), (2, 2, 1), (4, 2, 4)):
        name = f"sampled_{ranks}_{tp}_{sampler_tp}"
        run = train(folder, name, ranks, rows=8 * tp // ranks, accumulation=1, tp=tp, sampler_tp=sampler_tp)
        rollouts[name] = [line["response_ids"] for step in rollout_steps(run) for line in rollout_lines(run, step)]
        assert rollouts[name] == rollouts["sampled_1_1_1"], f"{name}: other responses than one rank's"
    print(f"{len(rollouts)} layouts of the sampler give the same {len(rollouts['sampled_1_1_1'])} responses")


def main():
    only = sys.argv[2:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        replay = dict(rollout_replay=record(folder))
        make_model(folder, "untied", "qwen3", "--no-tie", True)
        base = check_meshes(folder, "model", only or MESHES, replay)
        check_meshes(folder, "untied", only or MESHES, replay)
        check_variants(folder, base, replay)
        check_whole_sequences(folder, replay)
        check_token_baselines(folder, replay)
        check_decoupled(folder, replay)
        check_sampling(folder)


main()
