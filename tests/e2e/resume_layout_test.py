#!/usr/bin/env python3
"""A run that goes on with another number of ranks, tensor ranks or context ranks gives what one that kept its layout gives: the optimizer's
state is cut anew. Three steps of fixed rollouts; the last one is done by the second layout. Argument: the roll binary."""
import pathlib
import tempfile

import replay

# (ranks, tp, cp)
LAYOUTS = [((1, 1, 1), (2, 1, 1)), ((2, 1, 1), (1, 1, 1)), ((2, 1, 1), (4, 1, 1)), ((4, 1, 1), (2, 1, 1)),
           ((1, 1, 1), (2, 2, 1)), ((2, 2, 1), (1, 1, 1)), ((2, 2, 1), (2, 1, 1)), ((2, 1, 1), (2, 1, 2)), ((2, 1, 2), (1, 1, 1)),
           ((4, 2, 1), (2, 1, 2))]


def leg(folder, name, rollouts, layout, **flags):
    ranks, tp, cp = layout
    return replay.train(folder, name, ranks=ranks, tp=tp, cp=cp, accumulation=4 * tp * cp // ranks, rollout_replay=rollouts, **flags)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rollouts = replay.record(folder)
        base = leg(folder, "base", rollouts, (1, 1, 1))
        for before, after in LAYOUTS:
            what = "{0[0]} ranks, tp {0[1]}, cp {0[2]} -> {1[0]} ranks, tp {1[1]}, cp {1[2]}".format(before, after)
            run = "-".join(map(str, before + after))
            leg(folder, run, rollouts, before, max_steps=2)
            replay.compare(leg(folder, run, rollouts, after, resume_from_checkpoint="true"), base, what)


main()
