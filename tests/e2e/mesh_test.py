#!/usr/bin/env python3
"""Training does not depend on how ranks share data, sequences and weights: replays one set of rollouts under data x context x
tensor ranks and compares weights and metrics with one process. Argument: the roll binary."""
import pathlib
import sys
import tempfile

from replay import PACKED, compare, make_model, record, train

MESHES = ["211", "121", "112", "221", "212", "122", "411", "141", "114", "222"]  # dp, cp, tp
BOUND = 2e-6


def main():
    only = sys.argv[2:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        replay = dict(rollout_replay=record(folder))
        make_model(folder, "untied", "qwen3", "--no-tie")
        for model in ("model", "untied"):
            base = train(folder, f"{model}_111", rows=8, accumulation=1, model=model, **replay)
            for mesh in only or MESHES:
                dp, cp, tp = map(int, mesh)
                for algorithm in ("none", "load_balance"):
                    run = train(folder, f"{model}_{mesh}_{algorithm}", dp * cp * tp, rows=8 // dp, accumulation=1, tp=tp, cp=cp, model=model,
                                packing=PACKED.format(algorithm, 100), **replay)
                    compare(run, base, f"{model} dp {dp} cp {cp} tp {tp} {algorithm}", bound=BOUND)


main()
