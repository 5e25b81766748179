#!/usr/bin/env python3
"""samples/ of a run: the same responses with the same numbers on 1, 2 and 4 ranks, in every layout and placement; the numbers that
dump_experience shows of them; the timeline of a step; and what a run that goes on takes back. Argument: the roll binary."""
import json
import pathlib
import re
import shutil
import tempfile

import numpy

from placements import PLACEMENTS, ROLES, settings
from replay import record, train

COLUMNS = ("sampler_log_probs", "old_log_probs", "ref_log_probs", "values", "token_rewards", "advantages", "log_probs")
BOUND = 2e-4  # nats, and the size of whitened advantages: the layouts sum in other orders
STEPS = 3


def samples_of(run):
    """{(step, group, sample): line} of all parts."""
    found = {}
    for file in sorted((run / "samples").glob("*")):
        for line in map(json.loads, open(file)):
            key = line["step"], line["group_index"], line["sample_index"]
            assert file.name.startswith(f"step_{line['step']:06}") and key not in found, (file.name, key)
            found[key] = line
    return found


def check_same(name, mine, base):
    assert mine.keys() == base.keys(), (name, mine.keys() ^ base.keys())
    worst = 0
    for key, line in base.items():
        assert mine[key].keys() == line.keys() and mine[key]["tokens"] == line["tokens"], (name, key)
        for column in COLUMNS:
            gap = numpy.abs(numpy.array(mine[key][column]) - numpy.array(line[column])).max()
            assert gap < BOUND, (name, key, column, gap)
            worst = max(worst, gap)
    print(f"{name:34s} {len(base)} responses, numbers within {worst:.1e}", flush=True)


def check_numbers(base, run, rollouts):
    """Against the dump of the same step, which rank 0 writes of everything; and against what was replayed."""
    for step in range(1, STEPS + 1):
        lines = [json.loads(line) for line in open(run / f"experience/step_{step:06}.jsonl")]
        dumped = {(line["group_index"], line["sample_index"]): line for line in lines}
        shown = {key[1:]: line for key, line in base.items() if key[0] == step}
        means = {g: numpy.mean([line["score"] for (group, _), line in dumped.items() if group == g]) for g, _ in dumped}
        # Six: two groups that disagree with both their extremes, and one each of the best and the worst group; some may be the same.
        assert 4 <= len(shown) <= 6 and {max(means, key=means.get), min(means, key=means.get)} <= {g for g, _ in shown}, (step, shown.keys(), means)
        for key, line in shown.items():
            record = dumped[key]
            assert [record["score"], record["reward"], record["domain"]] == [line["score"], line["reward"], line["domain"]], (step, key)
            assert re.sub(r"<\|\w+\|>", "", "".join(line["tokens"])) == record["response"], (line["tokens"], record["response"])
            assert len(line["tokens"]) == len(record["response_ids"])
            for name in COLUMNS[1:-1]:
                assert line[name] == record[name], (step, key, name)
            assert line["sampler_log_probs"] == record["log_probs"]
            # One update a step: its log-probs are the old ones, computed again.
            assert numpy.abs(numpy.array(line["log_probs"]) - numpy.array(record["old_log_probs"])).max() < BOUND, (step, key)


def check_timelines(run, ranks):
    """Of the second step that ran, by each rank: the operators of its forward and backward pass."""
    files = sorted((run / "timeline").iterdir())
    assert [file.name for file in files] == [f"step_000002_rank_{rank}.json" for rank in range(ranks)], files
    for file in files:
        names = [event["name"] for event in json.loads(file.read_text())["traceEvents"] if event.get("cat") == "cpu_op"]
        assert any(name.startswith("aten::") for name in names) and any("Backward" in name for name in names), sorted(set(names))


def check_resume(folder, base, **flags):
    """Later steps' files go, whoever wrote them; those of earlier steps stay."""
    run = train(folder, "resumed", max_steps=2, save_steps=2, **flags)
    stray = [run / "samples" / name for name in ("step_000003-00002-of-00002.jsonl", "step_000007.jsonl")]
    for file in stray:
        file.write_text("{}\n")
    shutil.rmtree(run / "rollouts", ignore_errors=True)
    train(folder, "resumed", max_steps=STEPS, save_steps=2, resume_from_checkpoint="true", **flags)
    assert not any(file.exists() for file in stray), list((run / "samples").iterdir())
    assert samples_of(run) == base


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rollouts = record(folder)
        flags = dict(rollout_replay=rollouts, max_steps=STEPS, dump_samples=6)
        base_run = train(folder, "base", dump_experience="true", **flags)
        base = samples_of(base_run)
        assert [f.name for f in sorted((base_run / "samples").iterdir())] == [f"step_{n:06}.jsonl" for n in (1, 2, 3)]
        check_numbers(base, base_run, rollouts)
        for name, (dp, cp, tp) in {"2 data ranks": (2, 1, 1), "2 context ranks": (1, 2, 1), "2 tensor ranks": (1, 1, 2), "4 data ranks": (4, 1, 1),
                                   "2 data x 2 tensor ranks": (2, 1, 2)}.items():
            run = train(folder, name, dp * cp * tp, rows=4 // dp, cp=cp, tp=tp, profiler_timeline="true", **flags)
            check_same(name, samples_of(run), base)
            check_timelines(run, dp * cp * tp)
        two_updates = samples_of(train(folder, "two updates", rows=2, accumulation=4, **flags))  # a mini-batch is 8 sequences
        for name in ("partly shared", "apart", "apart, data ranks", "apart, tensor ranks", "shifted tensor groups"):
            placement = PLACEMENTS[name]
            ranks = len({device for role in ROLES for device in placement[role]})
            check_same(name, samples_of(train(folder, name, ranks, rows=2, **flags, **settings(placement))), two_updates)
        moved = [abs(a - b) for line in two_updates.values() for a, b in zip(line["log_probs"], line["old_log_probs"])]
        assert max(moved) > BOUND, "the second update of a step starts from weights that the first one moved"
        none = train(folder, "none", **{**flags, "dump_samples": 0, "max_steps": 1})
        assert not (none / "samples").exists() and not (none / "timeline").exists()
        check_resume(folder, base, rollout_replay=rollouts, dump_samples=6)
        print("a run that goes on has the samples of an undisturbed one, and none of later steps that somebody left")


main()
