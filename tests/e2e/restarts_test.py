#!/usr/bin/env python3
"""A rank that dies or hangs: the run ends and names it, or under max_restarts begins again and says so; updates that are not
finite are skipped, and too many of them end the run. Argument: the roll binary."""
import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import time

from long_run import LongRun, prepare

binary = pathlib.Path(sys.argv[1]).resolve()
TIMEOUT = {"actor_train.backend_timeout": 0.05}  # 3 s


def check_killed(folder):
    for ranks in (1, 2):
        with LongRun(binary, folder, "train", ranks, max_restarts=2) as run:
            for attempt in (1, 2):
                run.work(5)
                old = run.ranks()
                os.kill(old[-1], signal.SIGKILL)
                run.until(lambda: run.ranks() and not set(run.ranks()) & set(old), "restart")
                run.until(lambda: f"restart {attempt} of 2: rank {ranks - 1} on host" in run.log(), "line of the restart")
            run.work()
            os.kill(run.ranks()[-1], signal.SIGKILL)
            err = run.end(1)[1]
        said = re.findall(rf"(?m)^roll: (restart \d of 2: )?rank {ranks - 1} on host \S+ was killed by signal 9 \(Killed\)", err)
        assert said == ["restart 1 of 2: ", "restart 2 of 2: ", ""], err
        assert run.log().count("going on after step") == 2, run.log()
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


def check_stop_after_restart(folder):
    """A stop is a stop, also of a job that was started again; and Ctrl-C during the start of one."""
    with LongRun(binary, folder, "sft", 2, max_restarts=5) as run:
        run.work()
        os.kill(run.ranks()[0], signal.SIGKILL)
        run.work(5)
        run.process.send_signal(signal.SIGTERM)
        assert "roll: stopped by SIGTERM" in run.end(143)[1]


def check_not_finite(folder):
    """Weights of 1e30 after the first update: the loss of all later ones is not finite."""
    for kind, role, prefix in (("sft", "sft_train", "sft"), ("train", "actor_train", "actor")):
        for ranks in (1, 2):
            rate = {f"{role}.training_args.learning_rate": 1e30}
            with LongRun(binary, folder, kind, ranks, max_nonfinite_updates=2, **rate) as run:
                err = run.end(1)[1]
            assert f"{prefix}: 3 updates in a row whose loss or gradient is not finite, and max_nonfinite_updates = 2" in err, err
            found = re.findall(rf"warning: step (\d+): {prefix}: mini-batch 1 is skipped: .*; it is from (\S+)", err)
            assert len(found) == 3, err
            for step, file in found:
                assert f"step_{int(step):06}.jsonl" in file and (run.out / file).read_text(), file
            lines = [json.loads(line) for line in open(run.out / "metrics.jsonl")]
            assert [line.get(f"{prefix}/skipped_updates") for line in lines[-2:]] == [1, 1], lines[-2:]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(binary, folder)
        for check in (check_killed, check_hanging, check_stop_after_restart, check_not_finite):
            begin = time.monotonic()
            check(folder)
            print(f"{check.__name__}: {time.monotonic() - begin:.1f} s", flush=True)


main()
