#!/usr/bin/env python3
"""Which layers backward computes again changes no bit of a training, on one rank and on two, nor of one that goes on with others
recomputed. Argument: the roll binary."""
import pathlib
import tempfile

from replay import compare, make_model, record, roll, train

LAYERS = 4


def keys(granularity="full", **named):
    """Of the policy and the critic."""
    named = dict(granularity=granularity, **named)
    return {f"{role}.strategy_args.strategy_config.recompute_{key}": value for role in ("actor_train", "critic") for key, value in named.items()}


RECOMPUTED = {"every layer": keys(), "a block of one": keys(method="block", num_layers=1), "three together": keys(method="uniform", num_layers=3),
              "as memory asks for": keys(method="auto")}


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        replay = dict(rollout_replay=record(folder), model="deep")
        make_model(folder, "deep", "qwen2", "--layers", LAYERS)
        said = []

        def listen(*words):
            said.append(roll(*words))

        for ranks in (1, 2):
            layout = dict(ranks=ranks, rows=8, accumulation=1, tp=ranks)
            base = train(folder, f"kept_{ranks}", **layout, **replay)
            for what, flags in RECOMPUTED.items():
                if ranks == 1:
                    compare(train(folder, what.replace(" ", "_"), launch=listen, **layout, **replay, **flags), base, what, bound=0)
            run = f"changed_{ranks}"
            train(folder, run, **layout, **replay, **RECOMPUTED["three together"], max_steps=2)
            gone_on = train(folder, run, **layout, **replay, **RECOMPUTED["a block of one"], launch=lambda *words: roll(*words, "--resume"))
            compare(gone_on, base, f"{ranks} ranks, another block after step 2", bound=0)
        for role in ("actor_train", "critic"):
            assert f"{role}: backward recomputes 0 of {LAYERS} layers" in said[-1], said[-1]


main()
