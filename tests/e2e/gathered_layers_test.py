#!/usr/bin/env python3
"""ROLL's fsdp2: in an update data ranks have slices of the layers, gathered one by one (ZeRO-3), and train what one rank trains, however
sequences are packed and what is recomputed; their runs go on under other layouts, and back. Argument: the roll binary."""
import json
import pathlib
import sys
import tempfile

import replay

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish

BOTH = ("actor_train", "critic")
GATHERED = {f"{role}.strategy_args.strategy_name": "fsdp2_train" for role in BOTH}
BY_KEY = {f"{role}.strategy_args.strategy_config.{key}": value for role in BOTH
          for key, value in (("reshard_after_forward", "true"), ("recompute_granularity", "full"))}  # under megatron_train, which packs
KEPT = {f"{role}.model_args.disable_gradient_checkpointing": "true" for role in BOTH}
PACKED = replay.PACKED.format("load_balance", 90)


def sent(run):
    """Bytes of a step in which layers were gathered."""
    line = json.loads(open(run / "metrics.jsonl").readlines()[-1])
    return line["comm/train_actor/shards/all_gather_bytes"]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rollouts = replay.record(folder, "qwen2", "--layers", 3, "--tie", True)
        replayed = dict(rollout_replay=rollouts, adam=replay.SHARP)
        base = replay.train(folder, "base", rows=8, accumulation=1, **replayed)
        whole = replay.train(folder, "whole", 2, rows=4, accumulation=1, **replayed)
        # Name -> data, context and tensor ranks, and what else the run is given.
        for what, (dp, cp, tp, keys) in {
            "2 data ranks": (2, 1, 1, GATHERED),
            "4 data ranks, packed": (4, 1, 1, dict(packing=PACKED) | BY_KEY),  # some have a micro-batch more than others
            "2 data ranks, 2 micro-batches, kept": (2, 1, 1, dict(rows=2, accumulation=2) | GATHERED | KEPT),
            "2 context ranks": (1, 2, 1, GATHERED),
            "2 data x 2 tensor ranks": (2, 1, 2, GATHERED),
        }.items():
            run = replay.train(folder, what.replace(" ", "_"), dp * cp * tp, tp=tp, cp=cp,
                               **dict(rows=8 // dp, accumulation=1) | replayed | keys)
            replay.compare(run, base, what)
            if what == "2 data ranks":
                expect(sent(run) > 1.5 * sent(whole), f"layers are gathered in both passes: {sent(run)} bytes, {sent(whole)} where they are whole")
        for before, after in (((2, GATHERED), (1, {})), ((1, {}), (2, GATHERED)), ((2, GATHERED), (4, {}))):
            run = f"resumed_{before[0]}_{after[0]}"
            for (ranks, keys), more in ((before, dict(max_steps=2)), (after, dict(resume_from_checkpoint="true"))):
                replay.train(folder, run, ranks, rows=8 // ranks, accumulation=1, **replayed | keys | more)
            replay.compare(folder / run, base, f"{before[0]} ranks go on as {after[0]}")
    finish("gathered layers")


main()
