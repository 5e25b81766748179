#!/usr/bin/env python3
"""Every key that is a number refuses what is none, what is infinite and what no training computes with, at its place; a step with numbers that
are as large or as small as a key takes them ends with finite weights. Arguments: the roll binary; by hand "all", which takes such a step with
every key (a quarter of an hour)."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy
from safetensors.numpy import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import one_distill
import one_dpo
import one_step
import tiny_sft
from expecting import expect, finish

binary = pathlib.Path(sys.argv[1]).resolve()
HOMES = {"rewards.<name>": "rewards.math_rule", "tracker_kwargs": "tracker_kwargs"}
REFUSED = ("1e308", "-1e308", ".nan", ".inf", "-.inf")
# Largest numbers that went wrong once, and those next to nothing.
STEPS = ("reward_clip", "advantage_clip", "actor_train.model_args.lora_alpha", "actor_train.training_args.weight_decay",
         "actor_train.training_args.adam_epsilon", "actor_infer.generating_args.repetition_penalty")


def number_keys(command):
    """{path: (its type, its range as the table shows it)} of the keys of groups that a run has."""
    table = subprocess.run([binary, "keys", "--markdown"], capture_output=True, text=True, check=True).stdout
    found, section = {}, ""
    for line in table.splitlines():
        section = line.removeprefix("## roll ") if line.startswith("## ") else section
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if section != command or len(cells) != 6 or "number" not in cells[2]:
            continue
        home = cells[1].split(", ")[0]
        path = f"{HOMES.get(home, home)}.{cells[0]}" if home else cells[0]
        if not re.search(r"[<[]|rewards\.math_rule\.generating_args", path) and home not in ("custom_envs", "teacher"):
            found[path] = (cells[2], re.search(r"\[([^\[\]]*[\])]?)\]$", cells[4]))
    return found


def rlvr(folder):
    config = json.loads(one_step.prepare(binary, folder, "ppo").read_text())
    del config["rollout_replay"]
    training = config["actor_train"]["training_args"] | dict(gradient_accumulation_steps=2, per_device_train_batch_size=4)
    for role in ("actor_train", "critic"):
        config[role] = {key: value for key, value in config[role].items() if "packing" not in key} | dict(training_args=training)
    config["actor_train"]["model_args"]["lora_rank"] = 2
    rows = [dict(id=str(i), prompt=f"{i}+1=", ground_truth=str(i + 1), tag="t") for i in range(8)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config["actor_infer"]["generating_args"]["max_new_tokens"] = 8
    return config | dict(dump_experience=False, max_steps=1, response_length=8, rollout_batch_size=4, num_return_sequences_in_group=2)


def configs(folder):
    """(command, file) of a small run each."""
    for name in ("train", "sft", "dpo", "distill"):
        (folder / name).mkdir()
    tiny_sft.prepare(folder / "sft", "x", 1e-3, max_steps=1)
    (folder / "run.yaml").write_text(json.dumps(rlvr(folder / "train")))
    return [("train", folder / "run.yaml"), ("sft", folder / "sft/sft.yaml"), ("dpo", one_dpo.prepare(binary, folder / "dpo", one_dpo.RECIPES["dpo"])),
            ("distill", one_distill.prepare(binary, folder / "distill", one_distill.RECIPES["reverse"]))]


def override(path, kind, value):
    return f"{path}=[{value}]" if "list" in kind else f"{path}={{a: {value}}}" if "mapping" in kind else f"{path}={value}"


def check_refused(command, file):
    keys = list(number_keys(command).items())
    expect(len(keys) > 15, f"{command}: {len(keys)} keys are numbers: this test no longer understands the table")
    for value in REFUSED:
        for begin in range(0, len(keys), 8):
            some = keys[begin:begin + 8]
            done = subprocess.run([binary, "validate-config", "--offline", "--no-data", "--config", file,
                                   *[override(path, kind, value) for path, (kind, _) in some]], capture_output=True, text=True)
            expect(done.returncode == 2, f"{command}: exit code {done.returncode}: {some}")
            for path, _ in some:
                expect(f"{path} = " in done.stderr, f"{command}: {path} takes {value}: {done.stderr}")


def step(command, file, *overrides):
    """What is wrong with a step; "": nothing."""
    out = file.parent / "out"
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run([binary, command, "--config", file, "--device", "cpu", f"output_dir={out}", *overrides], capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 2):
        return f"exit code {done.returncode}: {done.stderr}"
    bad = [name for weights in out.rglob("*.safetensors") for name, tensor in load_file(weights).items()
           if tensor.dtype.kind == "f" and not numpy.isfinite(tensor).all()]
    return f"not finite: {bad[:3]}" if bad else ""


def check_steps(command, file, wanted):
    for path, (kind, shown) in number_keys(command).items():
        if wanted and path not in wanted:
            continue
        high = re.search(r"([\d.e+]+)[\])]?$", shown[1]) if shown else None
        for value in ([high[1]] if high and not shown[1].startswith(">") else []) + ["1e-320"]:
            wrong = step(command, file, override(path, kind, value))
            expect(not wrong, f"{command} {path}={value}: {wrong}")


with tempfile.TemporaryDirectory() as name:
    for command, file in configs(pathlib.Path(name)):
        check_refused(command, file)
        if len(sys.argv) > 2:
            check_steps(command, file, ())
        elif command == "train":
            check_steps(command, file, STEPS)
finish("extreme numbers")
