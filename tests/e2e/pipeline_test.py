#!/usr/bin/env python3
"""Training does not depend on the stages of a pipeline: replays one set of rollouts under data x stages x context x tensor ranks, goes on under
other layouts, and samples. Argument: the roll binary."""
import json
import pathlib
import sys
import tempfile

import replay
from rollouts import rollout_lines

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish

SPLIT = "strategy_args.strategy_config.num_layers_in_first_pipeline_stage"
RECOMPUTED = {f"{role}.strategy_args.strategy_config.recompute_granularity": "full" for role in ("actor_train", "critic")}
# dp, pp, cp, tp, and the algorithm that packs
LAYOUTS = [(2, 2, 1, 1, "load_balance"), (1, 2, 1, 2, "none"), (1, 2, 2, 1, "none")]
BOUND = 1e-6


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        replayed = dict(rollout_replay=replay.record(folder, "qwen2", "--layers", 3))
        uneven = {f"{role}.{SPLIT}": 1 for role in ("actor_train", "critic", "reference")}

        def train(name, dp=1, pp=1, cp=1, tp=1, algorithm="none", **flags):
            return replay.train(folder, name, dp * pp * cp * tp, rows=8 // dp, accumulation=1, tp=tp, cp=cp, pp=pp,
                                packing=replay.PACKED.format(algorithm, 100), **(uneven if pp == 2 else {}), **flags)

        base = train("base", **replayed)
        for dp, pp, cp, tp, algorithm in LAYOUTS:
            extra = RECOMPUTED if tp == 2 else {}
            run = train(f"{dp}{pp}{cp}{tp}", dp, pp, cp, tp, algorithm, **replayed, **extra)
            replay.compare(run, base, f"dp {dp} pp {pp} cp {cp} tp {tp}", bound=BOUND)
        replay.compare(train("3", pp=3, **replayed), base, "pp 3", bound=BOUND)
        # Another layout goes on.
        for before, after in ((2, 1), (1, 3)):
            train(f"resumed_{before}", pp=before, max_steps=2, **replayed)
            run = train(f"resumed_{before}", pp=after, resume_from_checkpoint="true", **replayed)
            replay.compare(run, base, f"pp {before} goes on as pp {after}", bound=BOUND)
        # A folder of such a model has several parameters in one tensor, and of qwen3_5_text in runs of rows.
        for arch in ("phi3", "qwen3_5_text"):
            replay.make_model(folder, arch, arch, "--layers", 4)
            runs = [replay.train(folder, f"{arch}_{pp}", pp, rows=8, accumulation=1, pp=pp, model=arch, **replayed) for pp in (1, 2)]
            replay.compare(runs[1], runs[0], f"{arch}, pp 2", bound=BOUND)
        # Sampled, not replayed: with the weights of all stages.
        ids = lambda run: [line["response_ids"] for step in (1, 2) for line in rollout_lines(run, step)]
        sampled = [ids(train(f"sampled_{pp}", pp=pp, max_steps=2, estimator="grpo")) for pp in (1, 2)]
        expect(sampled[0] == sampled[1] and len(sampled[0]) == 32, "stages give the sampler the weights of one rank")
    finish("pipelines")


main()
