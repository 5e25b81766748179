#!/usr/bin/env python3
"""Models with gated delta nets through the binary: made, inspected, sampled with prompts that are shared, trained under layouts that change
nothing, with mixtures of experts, too, and gone on with. Argument: the roll binary."""
import pathlib
import sys
import tempfile

import replay
from safetensors.numpy import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines

# dp, cp, tp
LAYOUTS = [(1, 2, 1), (2, 1, 2)]
NEAR = 1e-5  # norms around 1 begin at 0, and so have little to be compared with


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rollouts = replay.record(folder, "qwen3_5_text", "--layers", 4)
        told = replay.roll("inspect", folder / "model")
        expect("gated delta nets: in 3 of the layers, 4 value heads" in told and "gated attention" in told, told)
        replayed = dict(rollout_replay=rollouts)
        base = replay.train(folder, "base", rows=8, accumulation=1, **replayed)
        for dp, cp, tp in LAYOUTS:
            packing = replay.PACKED.format("load_balance", 150) if dp == 2 else ""
            run = replay.train(folder, f"{dp}{cp}{tp}", dp * cp * tp, rows=8 // dp, accumulation=1, tp=tp, cp=cp, packing=packing, **replayed)
            replay.compare(run, base, f"dp {dp} cp {cp} tp {tp}", bound=NEAR)
        for keys in (dict(max_steps=2), dict(resume_from_checkpoint="true")):
            replay.train(folder, "resumed", rows=8, accumulation=1, **keys, **replayed)
        replay.compare(folder / "resumed", base, "resumed", bound=0, metric_bound=0)
        # The sampler of two tensor ranks, and one whose cache holds few sequences at once.
        ids = lambda run: [line["response_ids"] for line in rollout_lines(run, 1)]
        one = replay.train(folder, "sampled", rows=8, accumulation=1, max_steps=1)
        two = replay.train(folder, "sampled_2", 2, rows=8, accumulation=1, tp=2, max_steps=1)
        expect(ids(one) == ids(two), "tensor ranks sample what one rank does")
        names = load_file(base / "checkpoints/step_000003/actor/model.safetensors").keys()
        expect({f"model.layers.0.linear_attn.{part}" for part in ("A_log", "dt_bias", "conv1d.weight", "in_proj_qkv.weight")} <= names,
               "saved under transformers' names")
        # Of mixtures: on ranks that share data, stages, tensors and experts at once.
        replay.make_model(folder, "mixture", "qwen3_5_moe_text", "--layers", 4)
        base, run = (replay.train(folder, f"mixture_{ranks}", ranks, rows=8 // ep, accumulation=1, model="mixture", tp=tp, pp=pp, ep=ep, **replayed)
                     for ranks, tp, pp, ep in ((1, 1, 1, 1), (8, 2, 2, 2)))
        replay.compare(run, base, "mixture, dp 2 pp 2 tp 2 ep 2", bound=NEAR)
    finish("gated delta nets")


main()
