#!/usr/bin/env python3
"""A training whose reward program hangs and dies every now and then: its answers are counted and told, every response is
there, and no process is left behind after the run. Argument: the roll binary."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import replay
from rollouts import rollout_lines

STEPS = 3
# One program, which numbers the questions over its lives and leaves flushing to Python; every third one fails, by turns, in one
# of two ways.
JUDGE = """import json, pathlib, subprocess, sys, time
count = pathlib.Path(sys.argv[1])
subprocess.Popen(["setsid", "sleep", sys.argv[2]])
for line in sys.stdin:
    number = int(count.read_text()) + 1
    count.write_text(str(number))
    if number % 6 == 3:
        time.sleep(1000)
    if number % 6 == 0:
        sys.exit("no more cheese")
    print(json.dumps({"id": json.loads(line)["id"], "reward": number % 2, "detail": {"number": number}}))
"""


def running(mark):
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "cmdline").read_bytes().split(b"\0") and (process / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                found.append(process.name)
        except OSError:
            pass
    return found


def command_line(folder, name, mark, **flags):
    words = []
    (folder / "count").write_text("0")
    judge = f"[{sys.executable}, {folder / 'judge.py'}, {folder / 'count'}, '{mark}']"
    replay.train(folder, name, launch=lambda *given: words.extend(map(str, given)), max_steps=STEPS,
                 **{"rewards.math_rule.type": "command", "rewards.math_rule.command": judge}, **flags)
    return [replay.binary, *words]


def check_run(folder, mark):
    done = subprocess.run(command_line(folder, "run", mark, **{"rewards.math_rule.timeout_s": 1.5, "max_len_mask": "false"}), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    metrics = [json.loads(line) for line in open(folder / "run/metrics.jsonl")]
    seen = 0
    for step in range(1, STEPS + 1):
        lines = rollout_lines(folder / "run", step)
        assert len(lines) == 16, "a response is missing"
        errors = [line["reward_detail"].get("error") for line in lines]
        timeouts, ends = errors.count("timeout"), errors.count("ended (exit status 1) instead of answering")
        assert timeouts + ends + errors.count(None) == 16 and timeouts > 0 and ends > 0, errors
        assert all(line["score"] == line["reward"] == (None if error else line["reward_detail"]["number"] % 2) for line, error in zip(lines, errors)), lines
        judged = [line["score"] for line in lines if line["score"] is not None]
        assert abs(metrics[step - 1]["score/mean"] - sum(judged) / len(judged)) < 1e-6, metrics[step - 1]
        assert abs(metrics[step - 1]["actor/final_mask_ratio"] - len(judged) / 16) < 1e-6, metrics[step - 1]
        for prefix in ("", "math_rule/"):
            assert (metrics[step - 1][prefix + "reward/timeouts"], metrics[step - 1][prefix + "reward/errors"]) == (timeouts, ends), metrics[step - 1]
        warning = (f"rewards.math_rule: step {step}: of 16 rewards, {timeouts} took longer than timeout_s, {ends} failed ({ends} crash), the first: "
                   "ended (exit status 1) instead of answering")
        assert done.stderr.count(warning) == 1, done.stderr
        seen += 16
    assert int((folder / "count").read_text()) <= seen, "a question was asked twice"  # one may have timed out before it was read
    assert not running(mark), "the program's children are left"


def check_what_is_not_judged_teaches_nothing(folder):
    """Two replays that differ in what unjudged responses say train to the same bits."""
    folder = folder / "unjudged"
    folder.mkdir()
    recorded = replay.record(folder)
    weights = []
    for shift in (0, 1):
        replayed = folder / f"replayed_{shift}"
        replayed.mkdir()
        for file in recorded.glob("step_*.jsonl"):
            lines = [json.loads(line) for line in open(file)]
            for line in lines[1::5]:
                line.update(score=None, reward=None, reward_detail={"error": "timeout", "failure": "timeout"},
                            response_ids=[(token + shift) % 200 for token in line["response_ids"]],
                            log_probs=[x * (1 + shift) for x in line["log_probs"]])
            (replayed / file.name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        out = replay.train(folder, f"trained_{shift}", rollout_replay=replayed)
        weights.append(replay.weights(out))
    first, second = weights
    assert all((first[name] == second[name]).all() for name in first), "an unjudged response taught something"


def check_advice(folder):
    """When most rewards time out, what to do is said once."""
    (folder / "judge.py").write_text("import time\ntime.sleep(1000)\n")
    flags = {"rewards.math_rule.timeout_s": 0.05, "rewards.math_rule.on_reward_error": "zero"}
    done = subprocess.run(command_line(folder, "late", "0", **flags), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.count("of 16 rewards, 16 took longer than timeout_s") == STEPS, done.stderr
    advice = "rewards.math_rule: 16 of 16 rewards timed out, so that few responses are left to train on; raise rewards.math_rule.timeout_s"
    assert done.stderr.count(advice) == 1, done.stderr
    first = "rewards.math_rule.command = "
    assert done.stderr.count("nothing came within timeout_s (0.05 s) of its first question") == 1 and first in done.stderr, done.stderr
    assert done.stderr.index("nothing came") < done.stderr.index("16 took longer than timeout_s"), "it is said before the step ends"


# Rank 0's answers. Rank 1's is too late for all of step 1, and dies at the first question of step 2.
SECOND_RANK = """import json, os, pathlib, sys, time
first = os.environ["OMPI_COMM_WORLD_RANK"] == "0"
count = pathlib.Path(sys.argv[1])
for line in sys.stdin:
    if not first:
        number = int(count.read_text()) + 1
        count.write_text(str(number))
        time.sleep(1000 if number <= 8 else 0)
        if number == 9:
            sys.exit("for a moment")
    print(json.dumps({"id": json.loads(line)["id"], "reward": 1}), flush=True)
"""


def check_answered_elsewhere(folder):
    """What has answered another rank is known to work: the first refusal that a rank meets then may pass."""
    (folder / "judge.py").write_text(SECOND_RANK)
    flags = {"rewards.math_rule.timeout_s": 1.5, "rewards.math_rule.world_size": 1}
    done = subprocess.run(command_line(folder, "elsewhere", "0", ranks=2, accumulation=2, **flags), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    errors = [[line["reward_detail"].get("error") for line in rollout_lines(folder / "elsewhere", step)] for step in (1, 2, 3)]
    assert [of_step.count(None) for of_step in errors] == [8, 15, 16] and "ended (exit status 1) instead of answering" in errors[1], errors


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    replay.make_model(folder)
    (folder / "rows.jsonl").write_text("".join(json.dumps(dict(id=str(i), prompt=f"{i}+1=", ground_truth=str(i + 1), tag="sum")) + "\n" for i in range(40)))
    (folder / "judge.py").write_text(JUDGE)
    mark = str(100000 + os.getpid())
    check_run(folder, mark)
    check_advice(folder)
    check_answered_elsewhere(folder)
    check_what_is_not_judged_teaches_nothing(folder)
print("failing rewards are as they should be")
