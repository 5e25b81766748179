#!/usr/bin/env python3
"""Training does not depend on the layout: replays one set of rollouts under ranks x accumulation x packing x micro-batch
sizes and compares weights and metrics. Argument: the roll binary."""
import pathlib
import tempfile

from replay import DEFAULTS, PACKED, compare, record, train


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        replay = dict(rollout_replay=record(folder))
        for mode, extra in (("seq-mean-token-mean", ""), ("token-mean", ""), ("prompt-mean", ""), ("constant", "loss_aggregation_divisor: 20")):
            base = train(folder, f"base_{mode}", mode=mode, extra=extra, rows=8, accumulation=1, **replay)
            cases = [(1, 2, 4, "", 0), (2, 4, 1, "", 0), (2, 1, 4, "none", 100), (1, 8, 1, "load_balance", 90)]
            for ranks, rows_, accumulation, algorithm, budget in cases:
                packing = PACKED.format(algorithm, budget) if algorithm else ""
                what = f"{mode} n={ranks} rows={rows_} accumulation={accumulation} {algorithm or 'not packed'}"
                run = train(folder, f"{mode}_{ranks}_{rows_}_{accumulation}", ranks, mode, "gae", rows_, accumulation, packing, extra, **replay)
                compare(run, base, what)
        base, run = (train(folder, f"defaults_{n}", n, rows=8 // n, accumulation=1, adam=DEFAULTS, **replay) for n in (1, 2))
        compare(run, base, "default epsilon n=2")
        # Sampling: one and two ranks give the same responses.
        one, two = (train(folder, f"sampled_{n}", n, rows=8 // n, accumulation=1, max_steps=1) for n in (1, 2))
        same = (one / "rollouts/step_000001.jsonl").read_text() == (two / "rollouts/step_000001.jsonl").read_text()
        assert same, "1 and 2 ranks sampled different responses"
        print("1 and 2 ranks sample the same bytes")


main()
