#!/usr/bin/env python3
"""What a run needs goes away under it. Where the run is killed, no program that it started stays behind, whatever that ignores. Where its
folder is taken away, it ends and says so. Argument: the roll binary."""
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile

from long_run import LongRun, prepare

binary = pathlib.Path(sys.argv[1]).resolve()
# Ignores SIGTERM and reads nothing, as do all that it starts: a child, one in a session of its own, and one whose parent has ended.
STUBBORN = r'''
import json, os, pathlib, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
asked = json.loads(sys.stdin.readline())
places = pathlib.Path(sys.argv[1])
def stay(name):
    (places / f"{name}.{os.getpid()}").touch()
    time.sleep(1000)
    os._exit(0)
if os.fork() == 0: stay("child")
if os.fork() == 0: os.setsid(), stay("session")
if os.fork() == 0:
    if os.fork() == 0: os.setsid(), stay("orphan")
    os._exit(0)
os.wait()
stay("program")
'''
KINDS = ("child", "session", "orphan", "program")


def check_killed(folder):
    """Of an environment and of a reward, with one rank and with two."""
    program = folder / "stubborn.py"
    program.write_text(STUBBORN)
    for what in ("environment", "reward"):
        for ranks in (1, 2):
            places = folder / f"{what}{ranks}"
            places.mkdir()
            command = json.dumps([sys.executable, str(program), str(places)])
            if what == "reward":
                keys = {"rewards.sum.type": "command", "rewards.sum.command": command, "rewards.sum.timeout_s": 900}
            else:
                keys = {"custom_envs": json.dumps(dict(Stubborn=dict(env_type="command", env_config=dict(command=json.loads(command), timeout_s=900)))),
                        "train_env_manager": json.dumps(dict(tags=["Stubborn"], num_env_groups=1, group_size=2, num_levels=8)),
                        "actor_train.data_args": "{}", "rewards": "{}"}
            with LongRun(binary, folder, "train", ranks, **keys) as run:
                run.until(lambda: all(any(places.glob(f"{kind}.*")) for kind in KINDS), "a program with all that it starts")
                os.kill(run.process.pid, signal.SIGKILL)
                run.end(-signal.SIGKILL)


def check_folder(folder):
    """Removed, renamed, replaced by another one, or its lock taken away."""
    def replace(out):
        out.rename(f"{out}.old")
        shutil.copytree(f"{out}.old", out, dirs_exist_ok=True)  # the run makes folders meanwhile
    def remove(out):
        shutil.rmtree(out.rename(f"{out}.old"))  # at once: the run writes there
    ways = dict(removed=remove, renamed=lambda out: out.rename(f"{out}.old"), replaced=replace, unlocked=lambda out: (out / ".lock").unlink())
    for kind, ranks, keys in (("sft", 1, {}), ("sft", 1, dict(save_steps=0)), ("train", 1, {}), ("train", 2, {})):
        for name, way in ways.items():
            if name != "removed" and kind == "sft":
                continue
            with LongRun(binary, folder, kind, ranks, **keys) as run:
                run.work()
                way(run.out)
                err = run.end(1)[1]
                told = f"roll: output_dir = {re.escape(str(run.out))}: the run folder, or its .lock, was removed, .* of step \\d+ are lost.* resume with: "
                written = rf"roll: (?:\[rank \d+\] )?{re.escape(str(run.out))}/\S+: cannot be .*\(No such file or directory\)"  # met while a file was written
                assert len(re.findall(f"{told}|{written}", err)) == 1, (name, err)


def check_checkpoints(folder):
    """Checkpoints alone may be removed: the next one is written all the same, and the run's end has it."""
    with LongRun(binary, folder, "sft", max_steps=400) as run:
        run.until(run.has_checkpoint, "a checkpoint")
        shutil.rmtree(run.out / "checkpoints", ignore_errors=True)
        run.end(0)
        assert (run.out / "checkpoints/step_000400/manifest.json").exists()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(binary, folder)
        for check in (check_killed, check_folder, check_checkpoints):
            check(folder)
            print(f"{check.__name__}: as it should be", flush=True)


main()
