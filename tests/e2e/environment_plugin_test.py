#!/usr/bin/env python3
"""Environments in shared libraries, built from outside against an installed roll and from its examples: they give the trajectories that the same
game gives as a program, on any number of ranks; what they do wrong is counted and never a reward. Argument: the roll binary, in its build folder."""
import json
import pathlib
import subprocess
import sys
import tempfile

import one_step

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines

binary = pathlib.Path(sys.argv[1]).resolve()
# The game of tests/environment_plugin/my_environments.cpp.
PROGRAM = r'''
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked["id"]}
    if asked["method"] == "reset":
        turns, config = 0, asked["config"]
        answer |= {"observation": f"level {asked['seed'] % 100} of {config['what']}", "instruction": "play"}
        if "tools" in config: answer["tools"] = [{"type": "function", "function": {"name": "look", "description": "", "parameters": {}}}]
    elif asked["method"] == "step":
        turns += 1
        reward = len(asked["message"].encode()) % 3
        answer |= {"observation": f"turn {turns}", "reward": reward, "done": turns == int(config.get("most", 2)), "valid": reward > 0, "success": reward > 1}
    print(json.dumps(answer), flush=True)
'''


def run(*command, **keys):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **keys)
    if done.returncode != 0:
        sys.exit(f"{command}\nexit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done


def train(folder, name, environments, ranks=1, exit_code=0):
    config = dict(exp_name="plugin", seed=5, output_dir=str(folder / name), max_steps=1, save_steps=1, track_with=["jsonl"],
                  pretrain=str(folder / "model"), rollout_batch_size=16, prompt_length=160, response_length=120, adv_estimator="grpo",
                  custom_envs=environments,
                  train_env_manager=dict(tags=list(environments), num_env_groups=len(environments), group_size=4, num_levels=8 * len(environments)),
                  actor_train=dict(training_args=dict(learning_rate=1e-3, train_batch_size=16)),
                  actor_infer=dict(generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)))
    (folder / f"{name}.yaml").write_text(json.dumps(config))
    done = subprocess.run([binary, "train", "--config", folder / f"{name}.yaml", "-n", str(ranks), "--device", "cpu"], capture_output=True, text=True,
                          timeout=200)
    expect(done.returncode == exit_code, f"{name}: exit code {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stderr


def lines(folder, name):
    """All of the trajectories but their log-probs, which differ by the rounding of sums over ranks."""
    return [{key: value for key, value in line.items() if key != "log_probs"} for line in rollout_lines(folder / name, 1)]


def games(python, library, digit):
    """A game of two turns, one whose calls are none, and the example, with commands in the place of plug-ins where no library is named."""
    what = lambda file, name, program: dict(library=str(file), name=name) if file else dict(command=[sys.executable, *program], world_size=2)
    of = lambda file, name, program, **keys: dict(env_type="plugin" if file else "command", max_steps=4, max_tokens_per_step=6,
                                                  env_config=what(file, name, program) | keys)
    return dict(Game=of(library, "game", ["-c", PROGRAM], config=dict(what="numbers")),
                Tools=of(library, "game", ["-c", PROGRAM], config=dict(what="tools", tools="yes", most=3), tool_pattern="([a-m])([n-z]|$)", show_tools=False),
                Digit=of(digit, "digit", [str(python)], config=dict(factor=3)))


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    one_step.make_model(binary, folder / "model", 1, False)
    run("cmake", "--install", binary.parent, "--prefix", folder / "installed")
    run("cmake", "-S", HERE.parent / "environment_plugin", "-B", folder / "plugin", f"-Droll_ROOT={folder / 'installed'}")
    run("cmake", "--build", folder / "plugin")
    library = folder / "plugin/libmy_environments.so"
    run(binary, "new", folder / "own", "--examples")
    run("bash", "build_plugin.sh", "my_environment.cpp", cwd=folder / "own")

    train(folder, "programs", games(folder / "own/environment.py", None, None))
    plugins = games(folder / "own/environment.py", library, folder / "own/libmy_environment.so")
    train(folder, "plugins", plugins)
    train(folder, "on2", plugins, ranks=2)
    expect(lines(folder, "programs") == lines(folder, "plugins"), "a plug-in gives the trajectories that the same game gives as a program")
    expect(lines(folder, "plugins") == lines(folder, "on2"), "two ranks have the same trajectories")
    told = [line["reward_detail"] for line in lines(folder, "plugins")]
    expect(any(detail.get("tool_errors") for detail in told), f"calls that are none are answered: {told}")

    wrong = lambda how: dict(env_type="plugin", max_steps=4, max_tokens_per_step=3,
                             env_config=dict(library=str(library), name="wrong", show_tools=False, config=dict(how=how)))
    for how, kind in ("throws at a step", "crash"), ("says bytes", "garbage"), ("nan", "protocol"):
        err = train(folder, kind, dict(Wrong=wrong(how)), exit_code=2)
        expect(f"Wrong: step 1: the environment failed in all 16 trajectories, first failure ({kind}): the environment " in err, f"{how}: {err[-800:]}")
    err = train(folder, "never", dict(Never=wrong("cannot be made")), exit_code=2)
    expect("no level can begin: 3 failed in a row; the last error: the environment threw at reset: there is no board" in err, err[-800:])
    err = train(folder, "new", dict(New=dict(env_type="plugin", env_config=dict(library=str(library), name="too_new"))), exit_code=2)
    expect("custom_envs.New.env_config.library" in err and "built for version 2 of roll/environment.h" in err, err[-800:])
finish("environments in shared libraries")
