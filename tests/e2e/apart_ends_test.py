#!/usr/bin/env python3
"""While sampling runs ahead: a rank that samples, trains or judges is killed, or a signal comes. The job ends and names it, and goes on
without losing a prompt. Argument: the roll binary."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from long_run import LongRun, prepare
from rollouts import rollout_lines

binary = pathlib.Path(sys.argv[1]).resolve()
RANKS = {"trains": 0, "samples": 1, "judges": 2}
STEPS = 40


def keys(folder, ratio):
    judge = {"type": "llm_judge", "judge_model_type": "inference", "judge_score_pattern": "([0-9])", "judge_score_max": 9, "on_reward_error": "zero",
             "model_args": f"{{model_name_or_path: {folder / 'model'}}}", "data_args": "{template: chatml}",
             "generating_args": "{max_new_tokens: 4, temperature: 1.0}", "device_mapping": "[2]"}
    return {"actor_train.device_mapping": "[0]", "actor_infer.device_mapping": "[1]", "async_generation_ratio": ratio, "max_steps": STEPS,
            **{f"rewards.sum.{key}": value for key, value in judge.items()}}


def prompts(run):
    return [[line["prompt_id"] for line in rollout_lines(run.out, step)] for step in range(1, STEPS + 1)]


def to_the_end(folder, ratio, out=None, **more):
    with LongRun(binary, folder, "train", 3, out=out, **keys(folder, ratio), **more) as run:
        run.end(0)
    return run


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(binary, folder)
        expected = prompts(to_the_end(folder, 0))
        for what, rank in RANKS.items():
            with LongRun(binary, folder, "train", 3, **keys(folder, 1)) as run:
                run.until(run.has_checkpoint, "a checkpoint")
                os.kill(run.ranks()[rank], signal.SIGKILL)
                err = run.end(1)[1]
            assert f"roll: rank {rank} on host" in err and "was killed by signal 9 (Killed)" in err, f"the rank that {what}:\n{err}"
            again = to_the_end(folder, 1, run.out, resume_from_checkpoint="true")
            assert prompts(again) == expected, f"after the rank that {what} was killed, prompts are lost"
            print(f"the rank that {what}: named, and no prompt is lost", flush=True)
        # Without a model that judges later, what samples is done with one step ahead and begins the next.
        apart = {key: value for key, value in keys(folder, 2).items() if not key.startswith("rewards")}
        with LongRun(binary, folder, "train", 2, **apart) as run:
            run.work(4)
            os.kill(run.ranks()[1], signal.SIGTERM)
            run.end(143)
        with LongRun(binary, folder, "train", 2, out=run.out, **apart, resume_from_checkpoint="true") as again:
            again.end(0)
        assert prompts(again) == expected, "after SIGTERM prompts are lost"


main()
