#!/usr/bin/env python3
"""Programs that play in a sandbox (`env_config.sandbox`): one that behaves plays as it does outside; what wants out does not get there, and what takes
too much is a failure that is counted, hurts nobody and never is a reward. Argument: the roll binary.

Where programs cannot be isolated this is skipped, with the kernel's reason."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import hostile_programs
import one_step
from turns import PLAYS, run_config

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines

binary = pathlib.Path(sys.argv[1]).resolve()
SECRET = "only-the-run-knows-this"
GAME = "import json\nLEVELS = json.load(open('levels.json'))\n" + PLAYS + '''
play(lambda seed, message: {"reward": LEVELS[(seed + len(message)) % 3]})
'''
# Of programs that would hurt the machine: only where there is no other process to be seen.
GUARD = r'''
import os, sys
if os.path.exists("/proc/self"): sys.exit("this is no sandbox")
'''
# What each does in its step, by the level's seed.
ACTS = GUARD + r'''
def bomb():
    while True:
        try: os.fork()
        except OSError: time.sleep(0.2)
def hog():
    x = []
    while True: x.append(bytearray(b"x") * (16 << 20))
def hogs():
    for _ in range(3): os.fork()
    x = bytearray(b"x") * (120 << 20)
    time.sleep(60)
def fill():
    while True: open(f"/tmp/{time.time()}", "wb").write(bytes(1 << 20))
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: os.execvp("sleep", ["sleep", WORD])
        os._exit(0)
def killer():
    for pid in (os.getppid(), -1, 1):
        try: os.kill(pid, signal.SIGKILL)
        except OSError: pass
def stop(): os.kill(os.getpid(), signal.SIGSTOP)
def close(): os.closerange(0, 99)
def end(): os._exit(0)
def overwrite(): open(sys.argv[0], "w").write("print('mine')")
def behave(): pass
ALL = [behave, bomb, hog, hogs, fill, daemon, killer, stop, close, end, overwrite]
def act(seed, message):
    ALL[seed // 2 % len(ALL)]()
    return {"reward": 1, "done": True}
play(act)
'''
FAULT = dict(zip("behave bomb hog hogs fill daemon killer stop close end overwrite".split(),
                 [None, "timeout", "crash", "crash", "crash", None, None, "timeout", "crash", "crash", "crash"]))
# What each of hostile_programs' may do where it is alone, or stands in for the same in the sandbox of code.
OWN = {"lifts its limits", "signals by number", "signals all", "signals its parent", "the interpreter's own modules", "the file that was given", "changes its input",
       "what the last program left", "what the last program left, again"}
CURIOUS = PLAYS + r'''
def act(seed, message):
    worked = []
    harmless, others = json.load(open("programs.json"))
    for name, source in harmless + ([] if os.path.exists("/proc/self") else others):
        done = subprocess.run([sys.executable, "-c", source], capture_output=True, stdin=subprocess.DEVNULL, timeout=50)
        if b"broken" in done.stdout: worked.append(name)
    return {"observation": f"worked: {worked}", "reward": 1 if not worked else -1, "done": True}
play(act)
'''


def environment(command, **keys):
    return dict(Program=dict(env_type="command", max_steps=3, max_tokens_per_step=4, env_config=dict(command=command, world_size=4, timeout_s=30) | keys))


def roll(folder, *arguments, before=()):
    return subprocess.run([*before, binary, *arguments], capture_output=True, text=True, timeout=200, cwd=folder, stdin=subprocess.DEVNULL, env=os.environ | {"ROLL_JOB_SECRET": SECRET})


def train(folder, name, environments, ranks=1, **keys):
    done = roll(folder, "train", "--config", run_config(folder, name, environments, **keys), "-n", str(ranks), "--device", "cpu")
    expect(done.returncode == 0, f"{name}: {done.returncode} {done.stderr[-2000:]}")
    return folder / name


@contextlib.contextmanager
def served(folder, *command):
    """The address of programs in sandboxes elsewhere."""
    server = subprocess.Popen([binary, "serve-environment", "--sandbox", "--", *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder,
                              env=os.environ | {"ROLL_JOB_SECRET": SECRET})
    yield server.stdout.readline().strip()
    server.terminate()
    server.wait(20)


def weights(run):
    return one_step.model_weights(run / "checkpoints/step_000002/actor")


def running(word):
    """Processes of the machine that have it in their command line."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (process / "cmdline").read_bytes(): found.append(process.name)
        except OSError:
            pass
    return found


def wait_until(condition, what):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    expect(False, what)


def check_game(folder):
    """Inside and outside the same, here and behind an address."""
    (folder / "levels.json").write_text("[0, 1, 2]")
    (folder / "game.py").write_text(GAME)
    command = [sys.executable, "game.py", "levels.json"]
    inside = train(folder, "inside", environment(command, sandbox=True), 2)
    outside = train(folder, "outside", environment(command), 2)
    with served(folder, *command) as address:
        far = train(folder, "far", environment([], addresses=[address]))
    for step in (1, 2):
        lines = [[line | {"log_probs": None} for line in rollout_lines(run, step)] for run in (outside, inside, far)]
        expect(lines[0] == lines[1] == lines[2], f"step {step}: the same trajectories")
        expect(len({line["reward"] for line in lines[0]}) > 1, "rewards differ")
    ours, theirs = weights(inside), weights(outside)
    expect(all((ours[name] == theirs[name]).all() for name in ours), "the same weights")
    resolved = (inside / "config.resolved.yaml").read_text()
    expect("sandbox: true" in resolved, "the resolved configuration has the key")
    again = roll(folder, "validate-config", "--config", inside / "config.resolved.yaml")
    expect(again.returncode == 0, f"and can be read again: {again.stderr}")


def check_acts(folder):
    word = f"8{os.getpid():06}.5"
    source = PLAYS + f"WORD = {word!r}\n" + ACTS
    (folder / "acts.py").write_text(source)
    (folder / "acts.py").chmod(0o666)
    played = environment([sys.executable, "acts.py"], sandbox=True, memory_mb=600, timeout_s=4, world_size=8)
    keys = dict(max_steps=1, save_steps=1, eval_steps=0, rollout_batch_size=64, train_env_manager=dict(tags=["Program"], num_env_groups=1, group_size=2, num_levels=32))
    run = train(folder, "acts", played, actor_train=dict(training_args=dict(learning_rate=1e-3, train_batch_size=64)), **keys)
    seen = set()
    for line in [json.loads(line) for line in open(run / "experience/step_000001.jsonl")]:
        name = list(FAULT)[int(line["prompt_id"].split(":")[1]) // 2 % len(FAULT)]
        seen.add(name)
        expect(line["reward_detail"].get("environment") == FAULT[name], f"{name} is {FAULT[name]}: {line['reward_detail']}")
        expect((line["reward"] is None) == (FAULT[name] is not None), f"{name}: a failure is no reward, and never 0: {line['reward']}")
    expect(seen == set(FAULT), f"all came: {set(FAULT) - seen}")
    told = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    expect(all(told.get(f"environment/failed/{kind}") for kind in set(FAULT.values()) - {None}), f"failures are counted by kind: {told}")
    expect((folder / "acts.py").read_text() == source, "what it was given is as it was")
    expect(not running(word), f"no daemon is left: {running(word)}")


def check_curious(folder):
    private = folder / "private"
    private.mkdir()
    (private / "secret").write_text(SECRET)
    (folder / "curious.py").write_text(CURIOUS)
    filled = [(name, source.replace("ROLL_HOSTILE_SECRET", "ROLL_JOB_SECRET")) for name, source in hostile_programs.curious(private, SECRET, sys.executable)]
    attempts = [(name, source) for name, source in filled if name not in OWN]
    harmless = [(name, source) for name, source in attempts if name in ("reads environments", "reads the host's files")]
    harmless.append(("reads the secret", hostile_programs.TRY + f"opens('{private}/secret')"))
    keys = dict(max_steps=1, save_steps=1, eval_steps=0, rollout_batch_size=2, train_env_manager=dict(tags=["Program"], num_env_groups=1, group_size=2, num_levels=1),
                actor_train=dict(training_args=dict(learning_rate=1e-3, train_batch_size=2)))

    command = [sys.executable, "curious.py", "programs.json"]

    def worked(name, command=command, **of):
        (folder / "programs.json").write_text(json.dumps([harmless, attempts]))
        run = train(folder, name, environment(command, timeout_s=60, world_size=2, **of), **keys)
        return [(line["reward"], line["reward_detail"], line["turns"]) for line in rollout_lines(run, 1)], [line["response"] for line in rollout_lines(run, 1)]

    told, _ = worked("control")  # which tries the harmless ones alone
    expect(len(harmless) == 3 and all(reward == -1 for reward, *_ in told), f"outside they do: {told}")
    with served(folder, *command) as address:
        told, _ = worked("served", [], addresses=[address])
    expect(all(reward == 1 for reward, *_ in told), f"at an address they do not: {told}")
    told, responses = worked("curious", sandbox=True)
    expect(len(attempts) > 25 and all(reward == 1 for reward, *_ in told), f"inside they do not: {told} {responses}")


def check_killed(folder):
    """The run is gone in the middle of programs that do not end: so are they."""
    word = f"7{os.getpid():06}.5"
    config = run_config(folder, "killed", environment(["sh", "-c", f"setsid sleep {word} & sleep {word}"], sandbox=True, timeout_s=100))
    run = subprocess.Popen([binary, "train", "--config", config, "--device", "cpu"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    wait_until(lambda: len(running(word)) >= 2, "a program plays")
    run.send_signal(signal.SIGKILL)
    run.wait()
    wait_until(lambda: not running(word), "nothing is left")


def check_refusals(folder):
    command = [sys.executable, "game.py", "levels.json"]
    config = run_config(folder, "refused", environment(command, sandbox=True))
    none = ["unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" "$@"']
    for arguments in (["train", "--device", "cpu"], ["validate-config"]):
        done = roll(folder, *arguments, "--config", config, before=none)
        expect(done.returncode == 2 and "custom_envs.Program.env_config.sandbox = true: this machine cannot isolate programs: making namespaces" in done.stderr
               and "allow user namespaces" in done.stderr, f"a machine that cannot: {done.returncode} {done.stderr}")
    expect(not (folder / "refused").exists(), "nothing has begun")
    done = roll(folder, "validate-config", "--offline", "--config", config, before=none)
    expect(done.returncode == 0, f"--offline asks for none: {done.stderr}")
    alone = ["unshare", "-Ur", "sh", "-c", 'exec "$0" "$@"']
    done = roll(folder, "validate-config", "--config", config, before=alone)
    expect(done.returncode == 0, f"root alone in its user namespace has one: {done.stderr}")
    wrong = ((environment([], sandbox=True, addresses=["127.0.0.1:7000"]), "sandbox = true", "serve-environment --sandbox"),
             (dict(Program=dict(env_type="guess_the_number", env_config=dict(sandbox=True))), "sandbox = true",
              'env_type: command or python), but custom_envs.Program.env_type = "guess_the_number"'),
             (environment(command, memory_mb=512), "memory_mb = 512", "set sandbox: true, or remove it"))
    for environments, key, words in wrong:
        done = roll(folder, "validate-config", "--config", run_config(folder, "wrong", environments))
        expect(done.returncode == 2 and re.search(rf"wrong.yaml:1:\d+: custom_envs.Program.env_config.{key}: ", done.stderr) and words in done.stderr, f"{words}: {done.stderr}")
    server = roll(folder, "serve-environment", "--sandbox", "--", "sh", before=none)
    expect(server.returncode == 2 and "--sandbox: this machine cannot isolate" in server.stderr, f"a host that cannot: {server.stderr}")


able = roll("/", "score", "--reward", "code_sandbox")  # which needs the same of the machine
if able.returncode == 2 and "unsafe_no_sandbox" in able.stderr:
    print(f"SKIPPED: {able.stderr.strip()}")
    sys.exit(77)
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    one_step.make_model(binary, folder / "model", 1, False)
    check_game(folder)
    check_acts(folder)
    check_curious(folder)
    check_killed(folder)
    check_refusals(folder)
finish("programs in a sandbox")
