#!/usr/bin/env python3
"""`roll evaluate --from` on 1,000 generated prompts against a script of its own: pass@k counts subsets, maj@k votes, errors come from
`statistics`. Argument: the roll binary."""
import collections
import itertools
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

binary = pathlib.Path(sys.argv[1]).resolve()
PROMPTS, SAMPLES = 1000, 8


def line(prompt, number, right, answer, rng):
    length = rng.randrange(1, 30)
    return dict(step=0, domain="math", prompt_id=str(prompt), group_index=prompt, sample_index=number, prompt="?", response="!", prompt_ids=[1],
                response_ids=[2] * length, log_probs=[-0.5] * length, finish_reason=rng.choice(["stop", "length"]), score=right, reward=right,
                reward_detail=dict(answer=answer), ground_truth="4", tag="")


def generated(rng):
    lines = []
    for prompt in range(PROMPTS):
        skill = rng.random()
        for number in range(SAMPLES):
            right = rng.random() < skill
            lines.append(line(prompt, number, int(right), rng.choice(["4", "4.0"]) if right else rng.choice(["", "5", "6", "7"]), rng))
    return lines


def pass_at(rights, k):
    subsets = list(itertools.combinations(rights, k))
    return sum(any(subset) for subset in subsets) / len(subsets)


def majority(run):
    votes = collections.Counter("right" if one["score"] else one["reward_detail"]["answer"] for one in run if one["score"] or one["reward_detail"]["answer"])
    best = [answer for answer, count in votes.items() if count == max(votes.values())]
    return ("right" in best) / len(best) if best else 0


def wanted(lines):
    groups = collections.defaultdict(list)
    for one in sorted(lines, key=lambda one: (one["group_index"], one["sample_index"])):
        groups[one["group_index"]].append(one)
    numbers = collections.defaultdict(list)
    for group in groups.values():
        rights = [one["score"] for one in group]
        numbers[f"avg@{SAMPLES}"].append(statistics.fmean(rights))
        numbers["score"].append(statistics.fmean(rights))
        for k in (2, 4, 8):
            numbers[f"pass@{k}"].append(pass_at(rights, k))
            numbers[f"maj@{k}"].append(statistics.fmean(majority(group[i:i + k]) for i in range(0, SAMPLES, k)))
        numbers["response_length"].append(statistics.fmean(len(one["response_ids"]) for one in group))
        numbers["truncated"].append(statistics.fmean(one["finish_reason"] == "length" for one in group))
        numbers["no_answer"].append(statistics.fmean(not one["reward_detail"]["answer"] for one in group))
        numbers["unjudged"].append(0)
    metrics = {f"val/made/{name}": statistics.fmean(values) for name, values in numbers.items()}
    return metrics | {f"val/made/{name}/se": statistics.stdev(values) / math.sqrt(len(values)) for name, values in numbers.items()}


def run(*args, code=0):
    done = subprocess.run([binary, "evaluate", *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def check_comparison(folder, before):
    """Of the same prompts, answered again: the difference and its error are those of the prompts' differences; of others there is none."""
    after = generated(random.Random(8))
    for name, some in (("before", before), ("after", after), ("other", [one | dict(ground_truth="5") for one in after])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in some))
    shares = [collections.defaultdict(list) for _ in range(2)]
    for of_prompts, some in zip(shares, (before, after)):
        for one in some:
            of_prompts[one["prompt_id"]].append(one["score"])
    changes = [statistics.fmean(shares[1][id]) - statistics.fmean(shares[0][id]) for id in shares[0]]
    better, worse = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    wanted = (f"after - before: {statistics.fmean(changes):+.4f} ± {statistics.stdev(changes) / math.sqrt(PROMPTS):.4f} over {PROMPTS} prompts: "
              f"{better} better, {worse} worse, {PROMPTS - better - worse} the same")
    table = run(*(word for name in ("before", "after", "other") for word in ("--from", f"{folder}/{name}.jsonl")))
    assert [line for line in table.splitlines() if " - " in line] == [wanted], (table, wanted)


def main():
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines = generated(rng)
        rng.shuffle(lines)
        for part, some in enumerate((lines[:3000], lines[3000:])):
            (folder / f"part{part}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in some))
        files = [word for part in (0, 1) for word in ("--from", f"made={folder}/part{part}.jsonl")]
        run(*files, "--out", folder / "metrics.json")
        ours, theirs = json.loads((folder / "metrics.json").read_text()), wanted(lines)
        assert ours.keys() == theirs.keys(), ours.keys() ^ theirs.keys()
        worst = max(abs(ours[key] - theirs[key]) / max(1, abs(theirs[key])) for key in theirs)
        assert worst < 1e-12, worst
        table = run(*files)
        assert "avg@k" in table and len(table.splitlines()) == 2 and f"{theirs['val/made/avg@8']:.4f} ± {theirs['val/made/avg@8/se']:.4f}" in table, table
        assert "occurs twice" in run(*files[:2], *files[:2], code=2)
        check_comparison(folder, lines)
        (folder / "empty.jsonl").write_text("")
        assert "has no responses" in run("--from", folder / "empty.jsonl", code=2)
        assert "--config FILE.yaml, or --model M --data ROWS, is missing" in run(code=2)
        assert "--from" in run(*files, "seed=3", code=2)
        print(f"{len(theirs)} numbers of {PROMPTS} prompts are the script's, within {worst:.1g}")


main()
