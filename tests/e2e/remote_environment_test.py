#!/usr/bin/env python3
"""Environments that `roll serve-environment` runs elsewhere: a run plays there as it does here; a host that dies is counted and never a reward;
nobody plays without the job's secret. Argument: the roll binary."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import one_step

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines
from turns import PLAYS

binary = pathlib.Path(sys.argv[1]).resolve()
SECRET = "0123456789abcdef"
# Its levels are numbers; the first step of a second level says so in a file, if it is to, and takes its time.
PROGRAM = PLAYS + r'''
levels = []
def begin(seed, config):
    levels.append(seed)
    return {"observation": f"level {seed % 100} of {config['what']}"}
def act(seed, message):
    if len(levels) > 1 and len(sys.argv) > 1 and not os.path.exists(sys.argv[1]):
        open(sys.argv[1], "w").close()
        time.sleep(5)
    return {"reward": len(message) % 3}
play(act, begin)
'''


class Server:
    def __init__(self, port=0, *arguments):
        self.process = subprocess.Popen([binary, "serve-environment", "--port", str(port), "--", sys.executable, "-c", PROGRAM, *arguments],
                                        stdout=subprocess.PIPE, text=True, env=os.environ | {"ROLL_JOB_SECRET": SECRET})
        self.address = self.process.stdout.readline().strip()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(20)


def train(folder, name, environment, secret=SECRET, max_steps=1):
    config = dict(exp_name="remote", seed=5, output_dir=str(folder / name), max_steps=max_steps, save_steps=max_steps, track_with=["jsonl"],
                  pretrain=str(folder / "model"), rollout_batch_size=8, prompt_length=160, response_length=120, adv_estimator="grpo", dump_experience=True,
                  custom_envs=dict(Far=dict(env_type="command", max_steps=4, max_tokens_per_step=3,
                                            env_config=dict(world_size=4, config=dict(what="numbers")) | environment)),
                  train_env_manager=dict(tags=["Far"], num_env_groups=1, group_size=4, num_levels=8),
                  actor_train=dict(training_args=dict(learning_rate=1e-3, train_batch_size=8)),
                  actor_infer=dict(generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)))
    (folder / f"{name}.yaml").write_text(json.dumps(config))
    return subprocess.run([binary, "train", "--config", folder / f"{name}.yaml", "--device", "cpu"], capture_output=True, text=True, timeout=200,
                          env={key: value for key, value in os.environ.items() if key != "ROLL_JOB_SECRET"} | ({"ROLL_JOB_SECRET": secret} if secret else {}))


def check_dying(folder):
    """The host dies in a step of its second level and is there again later."""
    mark = folder / "mark"
    server = Server(0, str(mark))
    servers = [server]

    def kill_and_start():
        while not mark.exists(): time.sleep(0.01)
        server.end(signal.SIGKILL)
        servers.append(Server(server.address.split(":")[1]))

    killer = threading.Thread(target=kill_and_start)
    killer.start()
    done = train(folder, "dying", dict(addresses=[server.address], timeout_s=60), max_steps=3)
    killer.join()
    servers[-1].end()
    expect(done.returncode == 0, f"a host that dies ends no run: {done.stderr[-1500:]}")
    told = [json.loads(line) for line in open(folder / "dying/metrics.jsonl")]
    expect(told[0].get("environment/failed/crash"), f"its levels are counted as crashes: {told[0]}")
    for line in [json.loads(line) for step in (1, 2, 3) for line in open(folder / f"dying/experience/step_{step:06}.jsonl")]:
        crashed = line["reward_detail"].get("environment") == "crash"
        expect((line["reward"] is None) == crashed, f"who crashed has no reward: {line['reward_detail']}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    one_step.make_model(binary, folder / "model", 1, False)
    servers = [Server(), Server()]
    here = train(folder, "here", dict(command=[sys.executable, "-c", PROGRAM]))
    far = train(folder, "far", dict(addresses=[server.address for server in servers]))
    expect(here.returncode == far.returncode == 0, f"{here.stderr[-1000:]}{far.stderr[-1500:]}")
    expect(rollout_lines(folder / "here", 1) == rollout_lines(folder / "far", 1), "the same trajectories")
    for secret, words in ("another", "check that ROLL_JOB_SECRET is the same on both hosts"), (None, "addresses: ROLL_JOB_SECRET is not set"):
        wrong = train(folder, "wrong", dict(addresses=[servers[0].address]), secret)
        expect(wrong.returncode == 2 and words in wrong.stderr, f"{secret}: {wrong.returncode}, {wrong.stderr[-600:]}")
    expect(servers[0].end() == 143, "it ends when it is told to")
    servers[1].end()
    nobody = train(folder, "nobody", dict(addresses=[servers[0].address]))
    expect(nobody.returncode == 2 and "Connection refused" in nobody.stderr, f"{nobody.returncode}, {nobody.stderr[-600:]}")
    check_dying(folder)
    none = subprocess.run([binary, "serve-environment", "--", "/no/such/program"], capture_output=True, text=True, env=os.environ | {"ROLL_JOB_SECRET": SECRET})
    expect(none.returncode == 2 and "/no/such/program: cannot be started" in none.stderr, none.stderr)
finish("environments on other hosts")
