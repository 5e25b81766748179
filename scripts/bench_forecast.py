#!/usr/bin/env python3
"""What `roll validate-config` forecasts for a step, against what steps then take, on models of random weights:
  scripts/bench_forecast.py [build/roll] [name of a configuration ...]
A line for each configuration: seconds of a step as forecast, the median of those behind the first, their ratio."""
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNITS = {"ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}
STEPS = 4
RL = {"max_steps": STEPS, "rollout_batch_size": 8, "num_return_sequences_in_group": 4, "response_length": 128, "save_steps": 0,
      "actor_train.training_args.train_batch_size": 16}
BF16 = {f"{role}.model_args.dtype": "bf16" for role in ("actor_train", "actor_infer")}
# name: (what `roll new` makes, or a file, ranks, overrides)
CONFIGURATIONS = {
    "fp32": ("grpo", 1, RL),
    "bf16": ("grpo", 1, RL | BF16),
    "LoRA": ("grpo", 1, RL | {"actor_train.model_args.lora_rank": 16, "actor_train.model_args.lora_alpha": 32}),
    "reference": ("grpo", 1, RL | {"use_kl_loss": "true", "kl_loss_coef": 0.01}),
    "PPO": ("ppo", 1, RL | {"critic.training_args.train_batch_size": 16, "critic_warmup": 0}),
    "two ranks": ("grpo", 2, RL),
    "sft": ("sft", 1, {"max_steps": STEPS, "save_steps": 0}),
    "sft, two ranks": ("sft", 2, {"max_steps": STEPS, "save_steps": 0}),
    "agentic": ("configs/frozen_lake_cpu.yaml", 1, {"max_steps": STEPS, "save_steps": 0, "eval_steps": 0}),
}


def sums(path, with_responses):
    draw = random.Random(1)
    with path.open("w") as out:
        for i in range(400):
            numbers = [draw.randrange(1000) for _ in range(draw.randrange(3, 30))]
            row = {"id": str(i), "tag": "sums", "prompt": " + ".join(map(str, numbers)) + " ="}
            row |= {"response": " ".join(str(sum(numbers[:k])) for k in range(1, len(numbers) + 1))} if with_responses else {"ground_truth": str(sum(numbers))}
            out.write(json.dumps(row) + "\n")


def seconds(text):
    """Of "0.42 s", "3 min 05 s", "2 h 07 min"."""
    return sum(float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+) (ms|s|min|h|d)\b", text))


def run(folder, *command):
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    roll = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/roll").resolve()
    names = sys.argv[2:] or list(CONFIGURATIONS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        run(folder, roll, "init-model", "--arch", "qwen2", "--hidden", 256, "--layers", 10, "--heads", 8, "--kv-heads", 2, "--vocab", 16384, "--tie", "--out", "model")
        for kind, flags in {"grpo": ["--reward", "math_rule"], "ppo": ["--reward", "math_rule", "--algorithm", "ppo"], "sft": ["--sft"]}.items():
            sums(folder / f"{kind}.jsonl", kind == "sft")
            run(folder, roll, "new", kind, "--model", "model", "--data", f"{kind}.jsonl", *flags, "--yes")
        for name in names:
            kind, ranks, keys = CONFIGURATIONS[name]
            command = "sft" if kind == "sft" else "train"
            config = ROOT / kind if kind.endswith(".yaml") else folder / kind / "config.yaml"
            output = folder / f"run of {name}"
            overrides = [f"{key}={value}" for key, value in keys.items()] + [f"output_dir={output}"] + (["pretrain=model"] if name == "agentic" else [])
            told = re.search(r"time on this machine: about (.*?) a step.*", run(folder, roll, "validate-config", "--config", config, "-n", ranks, *overrides))
            run(folder, roll, command, "--config", config, "-n", ranks, *overrides)
            steps = [json.loads(line)["time/step_total"] for line in (output / "metrics.jsonl").read_text().splitlines()]
            forecast, measured = seconds(told[1]), statistics.median(steps[1:])
            print(f"{name:16} {forecast:8.2f} s forecast, {measured:8.2f} s measured ({min(steps[1:]):.2f} to {max(steps[1:]):.2f}): {forecast / measured:.2f}    {told[0]}", flush=True)


main()
