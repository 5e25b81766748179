#!/usr/bin/env python3
"""What validate-config says of memory on the CPU is what a run takes, within 15 %: with a critic and without, where activations are
much and where they are little. Argument: the roll binary."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

binary = pathlib.Path(sys.argv[1]).resolve()
MODEL = dict(hidden=384, intermediate=1536, layers=8, heads=6, **{"kv-heads": 2})
PPO = dict(adv_estimator="gae", add_token_level_kl=True, init_kl_coef=0.1)
GRPO = dict(adv_estimator="grpo")


def config_of(folder, name, tokens, keys):
    trained = dict(model_args=dict(dtype="fp32", disable_gradient_checkpointing=True), use_sequence_packing=True,
                   sequence_packing_args=dict(max_packed_sequence_length_train=tokens, max_packed_sequence_length_forward=tokens),
                   training_args=dict(learning_rate=1e-6, per_device_train_batch_size=16, gradient_accumulation_steps=1))
    config = dict(exp_name=name, output_dir=str(folder / name), pretrain=str(folder / "model"), reward_pretrain=str(folder / "model"), max_steps=2,
                  save_steps=1, rollout_batch_size=4, num_return_sequences_in_group=4, prompt_length=32, response_length=96, track_with=["jsonl"],
                  actor_train=trained | dict(data_args=dict(file_name=[str(folder / "rows.jsonl")], messages="messages")),
                  actor_infer=dict(generating_args=dict(top_p=1, top_k=0)), reference=dict(model_args=dict(dtype="fp32")), critic=trained,
                  rewards=dict(any=dict(type="exact_match"))) | keys
    if keys["adv_estimator"] == "grpo":
        del config["critic"]
    file = folder / f"{name}.yaml"
    file.write_text(json.dumps(config))
    return file


def run(folder, *arguments):
    """What it printed, and the largest memory of the process in GB."""
    with open(folder / "said.txt", "w+") as said:
        process = subprocess.Popen([binary, *map(str, arguments)], stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        said.seek(0)
        text = said.read()
    assert status == 0, f"{arguments}: status {status}\n{text[-4000:]}"
    return text, usage.ru_maxrss * 1024 / 1e9


def compare(folder, name, tokens, keys):
    file = config_of(folder, name, tokens, keys)
    said = float(re.search(r"rank 0 takes about ([\d.]+) GB of memory in all", run(folder, "validate-config", "--config", file)[0])[1])
    took = run(folder, "train", "--config", file, "--device", "cpu")[1]
    print(f"{name}: said {said:.2f} GB, took {took:.2f} GB", flush=True)
    assert abs(took / said - 1) < 0.15, f"{name}: {took / said - 1:+.0%}"


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    (folder / "rows.jsonl").write_text("".join(json.dumps({"messages": [{"role": "user", "content": f"{n}+1="}], "ground_truth": str(n + 1)}) + "\n"
                                               for n in range(50)))
    run(folder, "init-model", "--arch", "qwen2", *[word for key, value in MODEL.items() for word in (f"--{key}", value)], "--tokenizer", "builtin", "--seed", 1,
        "--out", folder / "model")
    compare(folder, "ppo", 2048, PPO)
    compare(folder, "grpo", 2048, GRPO)
    compare(folder, "grpo_short", 256, GRPO)
