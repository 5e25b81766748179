#!/usr/bin/env python3
"""Stages of a pipeline whose layers have experts, adapters, or keys and inputs from other stages, stages with several chunks of layers, and those in
bfloat16, train as one rank does; their runs go on under other layouts, and the sampler has the weights of all. Argument: the roll binary."""
import json
import pathlib
import sys
import tempfile

import replay
from rollouts import rollout_lines

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish

COSTS = {f"actor_train.strategy_args.strategy_config.{key}": value for key, value in (("moe_aux_loss_coeff", 0.1), ("moe_z_loss_coeff", 0.01))}
adapters = lambda **keys: {f"{role}.model_args": json.dumps(dict(lora_rank=4, lora_dropout=0.2) | keys) for role in ("actor_train", "critic")}
# dp, tp, pp, chunks, ep
OF_EXPERTS = [(1, 1, 4, 1, 1), (2, 2, 2, 2, 2)]
OF_ADAPTERS = [(1, 2, 2, 2, 1)]
OF_SHARED_KEYS = [(1, 1, 4, 1, 1)]  # of Gemma 4 E2B's form
OF_EXPERTS_BESIDE = [(1, 1, 2, 2, 1)]  # of 26B-A4B's


def train(folder, name, layout=(1, 1, 1, 1, 1), **flags):
    dp, tp, pp, chunks, ep = layout
    packing = replay.PACKED.format("load_balance", 90) if dp > 1 else ""  # ranks without a micro-batch take part all the same
    return replay.train(folder, name, dp * tp * pp, rows=4 // dp, accumulation=2, tp=tp, pp=pp, chunks=chunks, ep=ep, packing=packing, **flags)


def check_layouts(folder, kind, layouts, bound, **flags):
    base = train(folder, kind, **flags)
    for layout in layouts:
        run = train(folder, f"{kind}_" + "".join(map(str, layout)), layout, **flags)
        replay.compare(run, base, f"{kind}: dp %d tp %d pp %d chunks %d ep %d" % layout, bound=bound)
    return base


def same_samples(folder, kind, layout, what, **flags):
    ids = lambda run: [line["response_ids"] for step in (1, 2) for line in rollout_lines(run, step)]
    sampled = [ids(train(folder, f"{kind}_sampled_{one[2]}", one, max_steps=2, estimator="grpo", **flags)) for one in ((1, 1, 1, 1, 1), layout)]
    expect(sampled[0] == sampled[1] and len(sampled[0]) == 32, f"stages give the sampler {what} of one rank")


def check_shared_keys(folder, rollouts):
    replay.make_model(folder, "keys", "gemma4_text", "--layers", 4, "--layer-input", 6, "--keyless-layers", 2)
    flags = dict(rollout_replay=rollouts, model="keys")
    base = check_layouts(folder, "keys", OF_SHARED_KEYS, 1e-6, **flags)
    interleaved = (1, 2, 2, 2, 1)
    train(folder, "keys_resumed", interleaved, max_steps=2, **flags)
    run = train(folder, "keys_resumed", resume_from_checkpoint="true", **flags)
    replay.compare(run, base, "stages whose layers share keys go on as one rank", metric_bound=2e-6)  # rounding of tensor ranks in grad_norm
    same_samples(folder, "keys", interleaved, "the weights", model="keys")
    check_layouts(folder, "keys_adapted", [(1, 1, 2, 1, 1)], 0, **flags, **adapters(lora_target="all-linear"))


def check_bfloat16(folder, rollouts):
    """To the bit, of what passes between stages nothing is rounded otherwise. But the two gradients of a tied embedding are added in float32 where
    it lies at both ends, and on one rank in bfloat16."""
    flags = dict(rollout_replay=rollouts) | {f"{role}.model_args": "{dtype: bf16}" for role in ("actor_train", "critic", "reference")}
    inputs = ("--layer-input", 6, "--keyless-layers", 2)
    for kind, layout, more in (("dense", (1, 1, 2, 1, 1), ()), ("keys", (1, 1, 2, 2, 1), inputs)):
        replay.make_model(folder, f"untied_{kind}", "gemma4_text" if more else "qwen2", "--layers", 4, "--no-tie", True, *more)
        check_layouts(folder, f"bfloat16_{kind}", [layout], 0, model=f"untied_{kind}", **flags)
    check_layouts(folder, "bfloat16_tied", [(1, 1, 2, 1, 1)], 5e-3, model="dense", **flags)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rollouts = replay.record(folder, "qwen2_moe", "--experts", 4, "--experts-per-token", 2, "--expert-intermediate", 24, "--layers", 4,
                                 routing_replay="true")
        mixture = dict(rollout_replay=rollouts, routing_replay="true") | COSTS
        base = check_layouts(folder, "experts", OF_EXPERTS, 1e-6, **mixture)
        # Another layout goes on.
        interleaved = (2, 1, 2, 2, 2)
        train(folder, "resumed", interleaved, max_steps=2, **mixture)
        replay.compare(train(folder, "resumed", resume_from_checkpoint="true", **mixture), base, "interleaved stages go on as one rank")
        # Sampled, not replayed.
        same_samples(folder, "experts", interleaved, "the experts")
        replay.make_model(folder, "beside", "gemma4_text", "--layers", 4, "--experts", 4, "--experts-per-token", 2, "--expert-intermediate", 24)
        check_layouts(folder, "beside", OF_EXPERTS_BESIDE, 1e-6, rollout_replay=rollouts, model="beside")
        check_shared_keys(folder, rollouts)
        replay.make_model(folder, "dense", "qwen2", "--layers", 4)
        check_layouts(folder, "adapters", OF_ADAPTERS, 1e-5, rollout_replay=rollouts, model="dense", **adapters(lora_target="q_proj,down_proj"))
        train(folder, "adapters_sampled", (1, 1, 2, 1, 1), max_steps=1, estimator="grpo", model="dense", **adapters(lora_target="q_proj,down_proj"))  # sums of what the sampler has
        check_bfloat16(folder, rollouts)
    finish("stages with experts, adapters and chunks")


main()
