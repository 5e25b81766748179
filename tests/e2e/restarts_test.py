#!/usr/bin/env python3
"""A rank that dies or hangs: the run ends and names it, or under max_restarts begins again and says so; updates that are not
finite are skipped, and too many of them end the run. Argument: the roll binary."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import one_step
from long_run import HANG_S, LongRun, prepare

binary = pathlib.Path(sys.argv[1]).resolve()
TIMEOUT = {"actor_train.backend_timeout": 0.05}  # 3 s


def check_killed(folder):
    for ranks in (1, 2):
        with LongRun(binary, folder, "train", ranks, max_restarts=2) as run:
            for attempt in (1, 2):
                run.until(run.has_checkpoint, "checkpoint")
                run.work()
                old = run.ranks()
                os.kill(old[-1], signal.SIGKILL)
                run.until(lambda: run.ranks() and not set(run.ranks()) & set(old), "restart")
                run.until(lambda: f"restart {attempt} of 2: rank {ranks - 1} on host" in run.log(), "line of the restart")
            run.work()
            os.kill(run.ranks()[-1], signal.SIGKILL)
            err = run.end(1)[1]
        said = re.findall(rf"(?m)^roll: (restart \d of 2: )?rank {ranks - 1} on host \S+ was killed by signal 9 \(Killed\)", err)
        assert said == ["restart 1 of 2: ", "restart 2 of 2: ", ""], err
        assert run.log().count("resuming after step") == 2, run.log()
        note = rf"restart 2 of 2: rank {ranks - 1} on host \S+ was killed by signal 9 .*; working again after \d"
        assert re.search(note, run.log()), run.log()


def check_hanging(folder):
    """Each of the ranks; the other one says who does not come."""
    for held in (0, 1):
        for restarts in (0, 1):
            with LongRun(binary, folder, "train", 2, max_restarts=restarts, **TIMEOUT) as run:
                run.work()
                for _ in range(restarts):
                    old = run.ranks()
                    os.kill(old[held], signal.SIGSTOP)
                    run.until(lambda: run.ranks() and not set(run.ranks()) & set(old), "restart")
                    run.work()
                os.kill(run.ranks()[held], signal.SIGSTOP)
                err = run.end(1)[1]
            named = rf"(?m)^roll: rank {1 - held} of 2, step \d+: .*: waited 3\.0 s and nothing came from rank {held}"
            assert len(re.findall(named, err)) == 1 + restarts, err


def check_stages(folder):
    """Of a pipeline each stage is named, and its run ends although the other stage waits for it."""
    stages = {"actor_train.strategy_args.strategy_config.pipeline_model_parallel_size": 2}
    for stage in (0, 1):
        with LongRun(binary, folder, "train", 2, **stages) as run:
            run.work()
            os.kill(run.ranks()[stage], signal.SIGKILL)
            began = time.monotonic()
            err = run.end(1)[1]
        print(f"stage {stage} is named after {time.monotonic() - began:.1f} s", flush=True)
        assert re.search(rf"(?m)^roll: rank {stage} on host \S+ was killed by signal 9 \(Killed\)", err), err


def check_stop_after_restart(folder):
    """A stop is a stop, also of a job that was started again; and Ctrl-C during the start of one."""
    with LongRun(binary, folder, "sft", 2, max_restarts=5) as run:
        run.work()
        os.kill(run.ranks()[0], signal.SIGKILL)
        run.work(5)
        run.process.send_signal(signal.SIGTERM)
        assert "roll: stopped by SIGTERM" in run.end(143)[1]
    with LongRun(binary, folder, "sft", 2, out=run.out, max_restarts=5) as again:  # what the user has to mend is no fault
        err = again.end(2)[1]
    assert "already holds a run" in err and "roll: restart" not in err, err


def check_not_finite(folder):
    """A loss that is divided by next to nothing is not finite."""
    for ranks in (1, 2):
        with LongRun(binary, folder, "sft", ranks, max_nonfinite_updates=2, loss_agg_mode="constant", loss_aggregation_divisor=1e-300) as run:
            err = run.end(1)[1]
        assert "sft: 3 updates in a row had a loss or gradient that is not finite: must be at most max_nonfinite_updates = 2" in err, err
        found = re.findall(r"warning: step (\d+): sft: mini-batch 1 is skipped: .*; its sequences are in (\S+?\.jsonl)", err)
        assert len(found) == 3 or (ranks == 2 and len(found) == 2), err  # another rank may end the job before the last is printed
        for step, file in found:
            assert file == f"{run.out}/skipped/step_{int(step):06}.jsonl", file
            rows = [json.loads(line)["row"] for line in open(file)]
            assert len(rows) == 2 * ranks and all(row.startswith(f"{folder}/rows.jsonl:") for row in rows), rows
        lines = [json.loads(line) for line in open(run.out / "metrics.jsonl")]
        assert [line.get("sft/skipped_updates") for line in lines[-2:]] == [1, 1] and "sft/loss" not in lines[-1], lines[-2:]


def check_replay_of_not_finite(folder):
    """Mini-batches are counted over all of a step, also where the first one is looked at by itself."""
    place = folder / "replay"
    place.mkdir()
    config = one_step.prepare(binary, place, "ppo")
    done = subprocess.run([binary, "train", "--config", config, "-n", "2", "--device", "cpu", "max_nonfinite_updates=1",
                           "actor_train.training_args.learning_rate=0.1", "actor_train.training_args.weight_decay=1e31"], capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 1, done.stderr
    found = re.findall(r"warning: step 1: actor: mini-batch (\d+) is skipped: .*; its sequences are in (\S+?\.jsonl)", done.stderr)
    first = int(found[0][0])
    file = str(place / "rollouts/step_000001.jsonl")
    assert first == 3 and found == [(str(first), file), (str(first + 1), file)], done.stderr
    assert "step 1: actor: 2 updates in a row had a loss or gradient that is not finite" in done.stderr, done.stderr


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(binary, folder)
        for check in (check_killed, check_hanging, check_stages, check_stop_after_restart, check_not_finite,
                      check_replay_of_not_finite):
            begin = time.monotonic()
            check(folder)
            print(f"{check.__name__}: {time.monotonic() - begin:.1f} s", flush=True)


main()
