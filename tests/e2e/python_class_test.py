#!/usr/bin/env python3
"""Environments that are Python classes, from outside: the documented one gives the trajectories that the same game gives as a program, also in a
sandbox; numbers as actions; what is no class, or raises. Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import one_step

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines
from turns import run_config

BINARY = pathlib.Path(sys.argv[1]).resolve()
PAGE = (pathlib.Path(__file__).resolve().parents[2] / "configs/agentic.md").read_text().split("### A Python class")[1].split("### A program")[0]
EXAMPLE, CONFIG = (block.split("\n", 1)[1] for block in PAGE.split("```")[1:4:2])
# The example's game, as a program.
PROGRAM = r'''
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked["id"]}
    if asked["method"] == "reset":
        secret = str(asked["seed"] % 10)
        answer |= {"instruction": "I have a digit in mind. Write digits until I say yes.", "observation": "Which is it?"}
    elif asked["method"] == "step":
        right = secret in asked["message"]
        answer |= {"observation": "Yes." if right else "No.", "reward": float(right), "done": right, "success": right}
    print(json.dumps(answer), flush=True)
'''
GAMES = r'''
print("what is printed is no answer")
class Walk:  # with numbers as actions, and observations that are no text
    class action_space: n, start = 5, 2
    def __init__(self, goal, name): self.goal, self.name = goal + 1, name + "!"
    def reset(self, *, seed=None, options=None):
        self.at = 0
        return {"at": self.at}, {}
    def step(self, action):
        assert isinstance(action, int) and 2 <= action < 7 and self.name == "x!"
        self.at += action
        return {"at": self.at}, 1, self.at >= self.goal, self.at == 3, {}
class Older:
    def reset(self, seed): return "go"
    def step(self, action): return "", 2.5, True, {}
class Raises(Older):
    def step(self, action): raise KeyError("the galaxy")
'''


def roll(folder, *arguments, code=0):
    done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=200, cwd=folder)
    expect(done.returncode == code, f"{arguments}: exit code {done.returncode}, wanted {code}: {done.stdout[-500:]}{done.stderr[-2000:]}")
    return done.stderr


def game(where, **keys):
    return dict(max_steps=4, max_tokens_per_step=8, env_config=dict(python_class=where, python=sys.executable, world_size=2) | keys.pop("env_config", {})) | keys


def train(folder, name, environments, code=0, **keys):
    keys = dict(max_steps=1, save_steps=0, eval_steps=0) | keys
    said = roll(folder, "train", "--config", run_config(folder, name, environments, **keys), "--device", "cpu", code=code)
    return said if code else [{key: value for key, value in line.items() if key != "log_probs"} for line in rollout_lines(folder / name, 1)]


def check_example(folder):
    """It learns nothing in one step, but plays as the same game does otherwise."""
    (folder / "my_games.py").write_text(EXAMPLE)
    text = run_config(folder, "example", dict(Digit=0), max_steps=1, save_steps=0, eval_steps=0).read_text()
    body = CONFIG.replace("custom_envs:", "").strip().removeprefix("Digit:")
    (folder / "example.yaml").write_text(text.replace('{"Digit": 0}', f"{{Digit: {body}}}"))
    roll(folder, "train", "--config", "example.yaml", "--device", "cpu")
    lines = [{key: value for key, value in line.items() if key != "log_probs"} for line in rollout_lines(folder / "example", 1)]
    program = dict(env_type="command", max_steps=4, max_tokens_per_step=8, env_config=dict(command=[sys.executable, "-c", PROGRAM]))
    expect(lines == train(folder, "program", dict(Digit=program)), "the class plays as the program does")
    expect(len(lines) == 16 and any("No." in line["response"] for line in lines), f"and it is played: {lines[0]}")
    module = train(folder, "module", dict(Digit=game("my_games.Digit")))
    expect(module == lines, "a module, and no env_type")
    config = run_config(folder, "boxed", dict(Digit=game("my_games.py:Digit", env_config=dict(sandbox=True))), max_steps=1, save_steps=0, eval_steps=0)
    done = subprocess.run([BINARY, "train", "--config", config, "--device", "cpu"], capture_output=True, text=True, timeout=100, cwd=folder)
    if "sandbox = true" in done.stderr:
        return print(f"skipped: no sandbox here: {done.stderr.strip()[:200]}")
    expect(done.returncode == 0, f"in a sandbox: {done.stderr[-1000:]}")
    expect([{key: value for key, value in line.items() if key != "log_probs"} for line in rollout_lines(folder / "boxed", 1)] == lines, "and in a sandbox the same")


def check_others(folder):
    (folder / "games.py").write_text(GAMES)
    walk = train(folder, "walk", dict(Walk=game("games.py:Walk", env_config=dict(config=dict(goal=4, name="x")))))
    turns = [turn for line in walk for turn in line["turns"]]
    expect(all("{'at': " in line["prompt"] for line in walk), f"an observation that is no text: {walk[0]['prompt']}")
    expect({turn["reward"] for turn in turns} <= {0, 1} and any(turn["reward"] == 0 for turn in turns), f"a message without a number is no step: {turns[:3]}")
    older = train(folder, "older", dict(Older=game("games.py:Older")))
    expect(all(line["reward"] == 2.5 and len(line["turns"]) == 1 for line in older), f"the older four: {older[0]}")


def check_faults(folder):
    for where, what, said in (("games.py:Absent", "no level can begin", "games.py has no function or class Absent; it has Walk, Older, Raises"),
                              ("games.py:Raises", "the environment failed in all 16 trajectories", "KeyError: 'the galaxy'")):
        text = train(folder, "fails", dict(Game=game(where)), code=2)
        expect(what in text and said in text, f"{where}: {text}")
    for keys, said in ((game("absent.py:Game"), "absent.py is not there"), (game("games.py"), "must be FILE.py:NAME or module.NAME"),
                       (game(None, env_type="python"), "python_class: missing"), (game("games.py:Older", env_type="command"), "needs env_type: python, but"),
                       (game("games.py:Older", env_config=dict(command=["true"])), "command is given too"),
                       (game("games.py:Older", env_config=dict(python="no_such_python")), "python = no_such_python")):
        text = roll(folder, "validate-config", "--config", run_config(folder, "wrong", dict(Game=keys)), code=2)
        expect(said in text, f"{keys}: {text}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    one_step.make_model(BINARY, folder / "model", 1, False)
    check_example(folder)
    check_others(folder)
    check_faults(folder)
finish("environments that are Python classes")
