#!/usr/bin/env python3
"""Muon makes the mini-batch's update whatever ranks share: replays one set of rollouts under data (ZeRO 0, 1 and 3) x stages x context x tensor x
expert ranks and compares weights and metrics with one process. A resumed run keeps its optimizer. Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import replay

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish

BOTH = ("actor_train", "critic")
MUON = replay.SHARP + ", optimizer: muon, weight_decay: 0.1"
STRATEGY = "strategy_args.strategy_config."
WHOLE = {f"{role}.{STRATEGY}use_distributed_optimizer": "false" for role in BOTH}
GATHERED = {f"{role}.{STRATEGY}reshard_after_forward": "true" for role in BOTH}
# dp, pp, cp, tp, ep, and other keys
DENSE = [(1, 1, 1, 1, 1, dict(rows=2, accumulation=4)), (2, 1, 1, 1, 1, {}), (4, 1, 1, 1, 1, {}), (2, 1, 1, 1, 1, WHOLE), (2, 1, 1, 1, 1, GATHERED), (1, 1, 1, 2, 1, {}),
         (1, 1, 1, 4, 1, {}), (2, 1, 1, 2, 1, {}), (2, 1, 1, 2, 1, WHOLE), (2, 1, 1, 2, 1, GATHERED), (1, 1, 2, 1, 1, {}), (1, 2, 1, 1, 1, {}), (2, 2, 1, 1, 1, {}), (1, 2, 1, 2, 1, {})]
EXPERTS = [(2, 1, 1, 1, 2, {}), (2, 1, 1, 2, 2, {}), (2, 1, 1, 1, 2, WHOLE), (1, 2, 1, 1, 1, {}), (4, 1, 1, 1, 2, {})]
BOUND = 2e-6  # as for AdamW in mesh_test.py, though five steps raise the rounding of small singular values by up to 485


def check_layouts(folder, model, layouts, replayed):
    keys = dict(rows=8, accumulation=1, model=model, adam=MUON) | replayed
    base = replay.train(folder, f"{model}_base", **keys)
    for dp, pp, cp, tp, ep, more in layouts:
        what = f"{model} dp {dp} pp {pp} cp {cp} tp {tp} ep {ep} {' '.join(key.split('.')[-1] for key in list(more)[:1])}"
        run = replay.train(folder, what.replace(" ", "_"), dp * pp * cp * tp, tp=tp, cp=cp, pp=pp, ep=ep, **keys | dict(rows=8 // dp) | more)
        replay.compare(run, base, what, bound=BOUND)
    return base


def check_sizes(folder, base, replayed):
    """Updates have AdamW's size, and projections a moment less."""
    adamw = replay.train(folder, "adamw", rows=8, accumulation=1, adam=replay.SHARP, **replayed)
    before = {f"actor.{name}": replay.numbers(tensor).reshape(tensor["shape"])
              for name, tensor in replay.deserialize((folder / "model/model.safetensors").read_bytes())}
    after = replay.weights(base)
    projections = [name for name in before if name.endswith("_proj.weight")]
    update = 0.2 * 1e-3  # root mean square of one; there are two in each of three steps
    moved = [numpy.sqrt(numpy.mean((after[name] - before[name]) ** 2)) / update for name in projections]
    expect(len(moved) == 14 and 1 < min(moved) and max(moved) < 6.5, f"with learning rate 1 an update's elements are about 0.2: {moved}")
    kept = [json.loads(open(run / "metrics.jsonl").readline())["memory/actor/optimizer_bytes"] for run in (base, adamw)]
    expect(kept[1] - kept[0] == 4 * sum(before[name].size for name in projections), f"projections have one moment: {kept}")


def check_resuming(folder, base, replayed):
    keys = dict(accumulation=1, adam=MUON) | replayed
    for before, after in (((2, 1), (1, 1)), ((1, 1), (2, 2)), ((2, 2), (2, 1)), ((1, 1), (1, 1))):
        run = "resumed_{0[0]}{0[1]}_{1[0]}{1[1]}".format(before, after)
        for (ranks, tp), more in ((before, dict(max_steps=2)), (after, dict(resume_from_checkpoint="true"))):
            replay.train(folder, run, ranks, rows=8 * tp // ranks, tp=tp, **keys | more)
        replay.compare(folder / run, base, f"{before[0]} ranks, tp {before[1]} go on as {after[0]}, tp {after[1]}", bound=0 if before == after == (1, 1) else BOUND)

    def refused(*arguments):
        done = subprocess.run([replay.binary, *map(str, arguments)], capture_output=True, text=True, timeout=300)
        expect(done.returncode == 2 and "actor_train.training_args.optimizer" in done.stderr, f"another optimizer is refused: {done.returncode} {done.stderr[-800:]}")

    replay.train(folder, "changed", rows=8, **keys | dict(max_steps=2))
    replay.train(folder, "changed", rows=8, launch=refused, **keys | dict(adam=MUON.replace("muon", "adamw"), resume_from_checkpoint="true"))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        replayed = dict(rollout_replay=replay.record(folder))
        base = check_layouts(folder, "model", DENSE, replayed)
        check_sizes(folder, base, replayed)
        check_resuming(folder, base, replayed)
        replay.make_model(folder, "experts", "qwen2_moe", "--experts", 4, "--experts-per-token", 2, "--expert-intermediate", 24)
        check_layouts(folder, "experts", EXPERTS, replayed)
    finish("Muon")


main()
