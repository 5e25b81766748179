#!/usr/bin/env python3
"""Checking a configuration runs nothing of a plug-in: its constructors leave no trace.

    plugin_file_test.py BINARY
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from case_files import write_files
from expecting import expect, finish

BINARY = pathlib.Path(sys.argv[1]).resolve()
CASES = pathlib.Path(__file__).resolve().parent / "cases/config.json"
SOURCE = """
#include <stdint.h>
#include <stdio.h>
struct Export { uint32_t abi; const char* torch; void* function; };
const struct Export roll_loss_f = {1, "any", 0}, roll_loss_new = {9, "any", 0};
const struct Export roll_reward_f = {1, "any", 0}, roll_reward_new = {9, "any", 0};
const struct Export roll_environment_f = {1, "any", 0};
__attribute__((constructor)) static void run(void) { fclose(fopen("it_ran", "w")); }
"""


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    write_files(folder, {}, json.loads(CASES.read_text())["base"])
    (folder / "f.c").write_text(SOURCE)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "f.so", "f.c"], cwd=folder, check=True)

    def roll(*args, name="f", key="actor_train.loss_func", type_=""):
        run = subprocess.run([BINARY, *args, "--config", "rlvr.yaml", f"{key}={{{type_}library: f.so, name: {name}}}"],
                             cwd=folder, capture_output=True, text=True, timeout=60)
        return run.returncode, run.stderr

    for args in (["validate-config"], ["validate-config", "--offline"], ["train", "--dry-run"]):
        code, err = roll(*args)
        expect(code == 0, f"{args}: exit {code}, {err}")
        expect(not (folder / "it_ran").exists(), f"{args} ran the plug-in's constructor")
    for name, said in (("g", "f.so has no symbol roll_loss_g"), ("new", "built for version 9 of roll/loss.h")):
        code, err = roll("validate-config", name=name)
        expect(code == 2 and said in err, f"name {name}: exit {code}, {err}")
    reward = dict(key="rewards.math_rule", type_="type: plugin, tag_included: [gsm8k], ")
    for args in (["validate-config", "--no-data"], ["validate-config", "--offline"], ["train", "--dry-run"]):
        code, err = roll(*args, **reward)
        expect(code == 0, f"reward, {args}: exit {code}, {err}")
        expect(not (folder / "it_ran").exists(), f"{args} ran the reward plug-in's constructor")
    for name, said in (("g", "rewards.math_rule.name = g: f.so has no symbol roll_reward_g"), ("new", "built for version 9 of roll/reward.h")):
        code, err = roll("validate-config", name=name, **reward)
        expect(code == 2 and said in err, f"reward, name {name}: exit {code}, {err}")
    (folder / "f.so").unlink()
    code, err = roll("validate-config", **reward)
    expect(code == 2 and "rewards.math_rule.library = f.so: no such file" in err, f"no library: exit {code}, {err}")
    code, err = roll("validate-config", "--offline", **reward)
    expect(code == 0, f"no library, offline: exit {code}, {err}")

finish("plugin_file")
