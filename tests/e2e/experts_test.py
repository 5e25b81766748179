#!/usr/bin/env python3
"""Mixtures of experts do not depend on how ranks share data, sequences, weights and experts, costs of their routers among it; their runs
go on under other layouts, and the sampler apart has all experts. Argument: the roll binary."""
import json
import pathlib
import sys
import tempfile

import numpy
import replay
from safetensors.numpy import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines

COSTS = {f"actor_train.strategy_args.strategy_config.{key}": value for key, value in (("moe_aux_loss_coeff", 0.1), ("moe_z_loss_coeff", 0.01))}
# dp, cp, tp, ep
LAYOUTS = [(2, 1, 1, 2), (1, 2, 1, 2), (2, 1, 2, 2), (4, 1, 1, 4)]


def last_step(run):
    return json.loads(open(run / "metrics.jsonl").readlines()[-1])


def check_routing_replay(folder):
    """In bfloat16 sampler and trainer round otherwise, and some tokens would go through other experts in training."""
    replay.make_model(folder, "wide", "qwen3_moe", "--experts", 16, "--experts-per-token", 4, "--expert-intermediate", 24)
    file = folder / "wide/model.safetensors"  # what layers add to random embeddings has to matter
    save_file({n: t * 8 if t.ndim == 2 and "layers" in n else t for n, t in load_file(file).items()}, file, metadata={"format": "pt"})
    keys = dict(rows=8, accumulation=1, model="wide", max_steps=1, enable_old_logprobs_recompute="true",
                **{f"{role}.model_args.dtype": "bf16" for role in ("actor_train", "actor_infer")})
    replays = {f"{role}.router_replay.mode": "R3" for role in ("actor_train", "actor_infer")}  # ROLL's spelling
    sampled = replay.train(folder, "routed", **keys, **replays)
    lines = rollout_lines(sampled, 1)
    expect(all(len(line["routed_experts"]) == len(line["prompt_ids"]) + len(line["response_ids"]) - 1 for line in lines), "each token's experts are there")
    expect({len(token) for line in lines for token in line["routed_experts"]} == {2 * 4}, "of two layers, four each")
    free = last_step(replay.train(folder, "free", rollout_replay=sampled / "rollouts", **keys))
    gap = lambda step: step["actor/sampler_log_prob_gap/mean"]
    routed = last_step(sampled)
    expect(0 < routed["actor/moe/replayed_otherwise"] < 0.2, "some experts are not the trainer's own choice")
    expect(abs(routed["actor/moe/agreement"] - 1) < 1e-9, f"all tokens go through the sampler's: {routed['actor/moe/agreement']}")
    expect(not {"actor/moe/replayed_otherwise", "actor/moe/agreement"} & free.keys(), "nothing is replayed unless asked for")
    expect(gap(routed) < 0.9 * gap(free), f"with the sampler's experts log-probs are nearer to its: {gap(routed):.2e}, {gap(free):.2e} without")
    print(f"routing replay: {routed['actor/moe/replayed_otherwise']:.2%} of the experts are not the trainer's own choice; "
          f"gap {gap(routed):.2e}, {gap(free):.2e} without")


def check_adapters(folder, replayed):
    """Those of experts lie where these do, go on elsewhere, and make one model with their base."""
    keys = dict(rows=8, accumulation=1, **replayed) | {f"{role}.model_args": json.dumps(dict(lora_rank=4, lora_target="all-linear")) for role in ("actor_train", "critic")}
    base = replay.train(folder, "adapters", **keys)
    for dp, tp, ep in ((1, 2, 1), (2, 2, 2)):
        run = replay.train(folder, f"adapters_{dp}{tp}{ep}", dp * tp, **keys | dict(rows=8 // dp), tp=tp, ep=ep)
        replay.compare(run, base, f"adapters, dp {dp} tp {tp} ep {ep}", bound=1e-5)  # B begins at 0
    replay.train(folder, "adapters_on", 2, **keys | dict(rows=4), ep=2, max_steps=2)
    replay.compare(replay.train(folder, "adapters_on", **keys, resume_from_checkpoint="true"), base, "adapters, ep 2 goes on as ep 1", bound=1e-5)
    saved = base / "checkpoints/step_000003/actor"
    names = load_file(saved / "adapter_model.safetensors").keys()
    expect({f"base_model.model.model.layers.1.mlp.experts.{e}.down_proj.lora_B.weight" for e in range(4)} <= names, "experts' adapters have PEFT's names")
    expect(not any(".mlp.gate.lora" in name for name in names), "routers have none")
    replay.roll("export", "--model", saved, "--out", folder / "merged", "--merge")
    texts = [replay.roll("generate", "--model", model, "--prompt", "1+1=", "--max-new-tokens", 8, "--temperature", 0) for model in (saved, folder / "merged")]
    expect(texts[0] == texts[1], "the merged mixture writes what the adapters do")


def check_biases(folder, rollouts):
    """Routers of sigmoids, two of four groups, whose biases each update moves by one step towards even loads; and latent attention."""
    replay.make_model(folder, "biased", "deepseek_v3", "--layers", 4, "--no-tie", True, "--experts", 8, "--experts-per-token", 2, "--expert-intermediate", 24)
    file = folder / "biased/config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | dict(n_group=4, topk_group=2, routed_scaling_factor=1.5)))
    rate = "actor_train.strategy_args.strategy_config.moe_router_bias_update_rate"
    keys = dict(rollout_replay=rollouts, model="biased", accumulation=1, adam=replay.SHARP, **COSTS)
    base = replay.train(folder, "biased_base", rows=8, **keys, **{rate: 0.01})
    for dp, cp, tp, ep, pp in ((2, 1, 2, 2, 1), (1, 2, 1, 2, 1), (1, 1, 1, 1, 2), (2, 1, 1, 2, 2)):
        run = replay.train(folder, f"biased_{dp}{cp}{tp}{ep}{pp}", dp * cp * tp * pp, rows=8 // dp, cp=cp, tp=tp, ep=ep, pp=pp, **keys, **{rate: 0.01})
        replay.compare(run, base, f"biases, dp {dp} cp {cp} tp {tp} ep {ep} pp {pp}")
    biases = lambda weights: {n: t for n, t in weights.items() if n.endswith("e_score_correction_bias")}
    before, behind = load_file(folder / "biased/model.safetensors"), load_file(base / "checkpoints/step_000003/actor/model.safetensors")
    steps = numpy.concatenate([(behind[n] - before[n]) / 0.01 for n in biases(before)])
    expect(len(steps) == 3 * 8, "three of four layers have experts")
    expect(abs(steps - steps.round()).max() < 1e-3 and 3 <= abs(steps).max() <= 6, f"each of six updates moves them by one step: {steps}")
    fixed = replay.train(folder, "biased_fixed", rows=8, **keys)
    same = biases(load_file(fixed / "checkpoints/step_000003/actor/model.safetensors"))
    expect(all((same[n] == before[n]).all() for n in same) and len(same) == 3, "unless asked for they stay as they are")
    busiest = lambda run: last_step(run)["actor/moe/busiest_load"]
    expect(busiest(base) < busiest(fixed), f"loads become more even: {busiest(base)}, {busiest(fixed)} without")
    # In bfloat16, from one layout to another: biases stay float32, to the bit.
    half = {f"{role}.model_args": "{dtype: bf16}" for role in ("actor_train", "critic", "reference", "actor_infer")}
    whole = replay.train(folder, "biased_half", rows=8, **keys, **half, **{rate: 0.01})
    staged = replay.train(folder, "biased_half_2", 2, rows=8, pp=2, max_steps=2, **keys, **half, **{rate: 0.01})
    replay.train(folder, "biased_half_2", rows=8, resume_from_checkpoint="true", **keys, **half, **{rate: 0.01})
    replay.compare(staged, whole, "biases in bfloat16, two stages go on as one rank", bound=0)
    tensors = replay.deserialize((staged / "checkpoints/step_000003/actor/model.safetensors").read_bytes())
    expect({n for n, tensor in tensors if tensor["dtype"] == "F32"} == same.keys(), "biases alone are float32")
    sampled = [replay.train(folder, f"biased_sampled_{pp}", pp, rows=8, pp=pp, max_steps=2, estimator="grpo", model="biased", accumulation=1,
                            **half, **{rate: 0.01}) for pp in (1, 2)]
    ids = [[line["response_ids"] for step in (1, 2) for line in rollout_lines(run, step)] for run in sampled]
    expect(ids[0] == ids[1] and len(ids[0]) == 32, "stages give the sampler the biases of one rank")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rollouts = replay.record(folder, "qwen2_moe", "--experts", 4, "--experts-per-token", 2, "--expert-intermediate", 24,
                                 routing_replay="true")
        replayed = dict(rollout_replay=rollouts, adam=replay.SHARP, routing_replay="true") | COSTS
        base = replay.train(folder, "base", rows=8, accumulation=1, **replayed)
        for dp, cp, tp, ep in LAYOUTS:
            packing = replay.PACKED.format("load_balance", 90) if dp == 4 else ""  # ranks without a micro-batch take part all the same
            run = replay.train(folder, f"{dp}{cp}{tp}{ep}", dp * cp * tp, rows=8 // dp, accumulation=1, tp=tp, cp=cp, ep=ep, packing=packing, **replayed)
            replay.compare(run, base, f"dp {dp} cp {cp} tp {tp} ep {ep}")
        run = replay.train(folder, "whole", rows=8, accumulation=1, **replayed | {"actor_train.share_prompts": "false"})
        expect(replay.shared_of(base) > 0 and replay.shared_of(run) == 0, "prompts are shared by default")
        replay.compare(run, base, "whole prompts")
        without = last_step(replay.train(folder, "without", rows=8, accumulation=1, rollout_replay=rollouts))
        with_costs = last_step(base)
        for cost in ("balance_loss", "z_loss"):
            expect(with_costs[f"actor/moe/{cost}"] < without[f"actor/moe/{cost}"], f"{cost} is trained down")
        expect(1 <= with_costs["actor/moe/busiest_load"] <= 2, "the busiest of four experts, two of them a token's, has one to two even loads")
        check_routing_replay(folder)
        check_biases(folder, rollouts)
        check_adapters(folder, dict(rollout_replay=rollouts))
        # Another layout goes on, and back.
        for before, after in (((2, 2), (1, 1)), ((1, 1), (2, 2))):
            run = f"resumed_{before[1]}_{after[1]}"
            for (ranks, ep), keys in ((before, dict(max_steps=2)), (after, dict(resume_from_checkpoint="true"))):
                replay.train(folder, run, ranks, rows=8 // ranks, accumulation=1, ep=ep, **keys, **replayed)
            replay.compare(folder / run, base, f"ep {before[1]} goes on as ep {after[1]}")
        # Sampled, not replayed: from the weights that the trainer has.
        one = replay.train(folder, "sampled", rows=8, accumulation=1, max_steps=2)
        two = replay.train(folder, "sampled_2", 2, rows=4, accumulation=1, ep=2, max_steps=2)
        ids = lambda run: [line["response_ids"] for step in (1, 2) for line in rollout_lines(run, step)]
        expect(ids(one) == ids(two), "ranks that share experts in training sample what one rank does")
        names = load_file(two / "checkpoints/step_000002/actor/model.safetensors").keys()
        expect({f"model.layers.1.mlp.experts.{e}.down_proj.weight" for e in range(4)} <= names, "all experts are saved")
    finish("mixtures of experts")


main()
