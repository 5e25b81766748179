#!/usr/bin/env python3
"""Weights that are not numbers, or not in the dtype asked for, are refused by file and tensor; so are more tokens than a
model has positions.

    model_values_test.py BINARY
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
from safetensors.numpy import load_file, save_file

from expecting import expect, finish

BINARY = pathlib.Path(sys.argv[1]).resolve()


def roll(folder, *args, text=""):
    done = subprocess.run([BINARY, *map(str, args)], cwd=folder, input=text, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    code, _, err = roll(folder, "init-model", "--arch", "qwen2", "--hidden", 32, "--intermediate", 64, "--layers", 1, "--heads", 4,
                        "--kv-heads", 2, "--tokenizer", "builtin", "--out", "model")
    expect(code == 0, err)
    file = folder / "model/model.safetensors"
    good = load_file(file)
    name = "model.layers.0.mlp.up_proj.weight"
    row = '{"ids": [1, 2, 3]}\n'

    def broken(value, args, said, where=name):
        tensors = {n: t.copy() for n, t in good.items()}
        tensors[where].flat[-1] = value
        save_file(tensors, file, metadata={"format": "pt"})
        code, _, err = roll(folder, *args, text=row)
        expect(code == 2 and f"model/model.safetensors: {where}: holds {said}" in err, f"{value} for {args}: exit {code}, {err}")
        expect(not (folder / "out").exists(), f"{value} for {args} left a folder")

    for value in (numpy.nan, numpy.inf, -numpy.inf):
        for args in (["logprobs", "--model", "model"], ["export", "--model", "model", "--out", "out"],
                     ["generate", "--model", "model"], ["export", "--model", "model", "--out", "out", "--dtype", "bf16"]):
            broken(value, args, "NaN or infinite values; use a checkpoint")
    broken(numpy.nan, ["export", "--model", "model", "--out", "out"], "NaN or", "model.norm.weight")
    broken(3e38, ["export", "--model", "model", "--out", "out", "--dtype", "fp16"], "3e+38, which is infinite in fp16; use bf16")
    broken(-65520, ["export", "--model", "model", "--out", "out", "--dtype", "fp16"], "65520, which is infinite in fp16; use bf16")
    broken(3.4e38, ["export", "--model", "model", "--out", "out", "--dtype", "bf16"], "3.4e+38, which is infinite in bf16; use fp32")
    for dtype in ("fp16", "bf16", "fp32"):  # the largest of fp16
        save_file({**good, name: numpy.full_like(good[name], 65504)}, file, metadata={"format": "pt"})
        code, _, err = roll(folder, "export", "--model", "model", "--out", f"out_{dtype}", "--dtype", dtype)
        expect(code == 0, f"65504 as {dtype}: {err}")

    save_file(good, file, metadata={"format": "pt"})
    config = json.loads((folder / "model/config.json").read_text())
    (folder / "model/config.json").write_text(json.dumps(config | {"max_position_embeddings": 8}))
    for length, wanted in ((8, 0), (9, 2)):
        code, _, err = roll(folder, "logprobs", "--model", "model", text=row + json.dumps({"ids": [1] * length}) + "\n")
        expect(code == wanted, f"{length} ids: exit {code}, {err}")
    expect("stdin:2: ids: 9 tokens: the model's max_position_embeddings is 8" in err, err)

finish("model_values")
