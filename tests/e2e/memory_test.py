#!/usr/bin/env python3
"""What validate-config says of memory on the CPU is what a run takes, within 15 %: with a critic and without, where activations are
much and where they are little. How much of the program and of LibTorch's files is resident is the kernel's business (0.1 to 0.3 GB,
one machine differs from itself): a run of a tiny model measures it. No answer ends early, so that micro-batches are full: with more
tokens in the vocabulary than answers have in all, no end token is drawn. A checkpoint is made once, behind the last step: its copy
comes where the activations were, as it would not if it were still being written while the next step trains, which is what is said.
Argument: the roll binary."""
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
VOCAB = 8192


TINY = dict(hidden=16, intermediate=16, layers=1, heads=1)


def config_of(folder, name, tokens, keys, model):
    trained = dict(model_args=dict(dtype="fp32", disable_gradient_checkpointing=True), use_sequence_packing=True,
                   sequence_packing_args=dict(max_packed_sequence_length_train=tokens, max_packed_sequence_length_forward=tokens),
                   training_args=dict(learning_rate=1e-6, per_device_train_batch_size=8, gradient_accumulation_steps=1))
    config = dict(exp_name=name, output_dir=str(folder / name), pretrain=str(folder / model), reward_pretrain=str(folder / model), max_steps=2,
                  save_steps=2, rollout_batch_size=2, num_return_sequences_in_group=4, prompt_length=32, response_length=224, track_with=["jsonl"],
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


def measure(folder, name, tokens, keys, model="model"):
    """What a run took and what validate-config said of it, but for what is not there at one time; in GB."""
    file = config_of(folder, name, tokens, keys, model)
    text = run(folder, "validate-config", "--config", file)[0]
    said, activations, copy = (float(re.search(pattern, text)[1]) for pattern in (
        r"rank 0 needs about ([\d.]+) GB of memory in total", r"activations ([\d.]+)", r"([\d.]+) of host memory for the copy"))
    took = run(folder, "train", "--config", file, "--device", "cpu")[1]
    step = json.loads((folder / name / "metrics.jsonl").read_text().splitlines()[-1])
    assert step["token/total_length/min"] == 256, step["token/total_length/min"]
    print(f"{name}: said {said:.2f} GB, {min(activations, copy):.2f} of them one after the other, took {took:.2f} GB", flush=True)
    return took, said - min(activations, copy)


def compare(folder, name, tokens, keys, program):
    took, said = measure(folder, name, tokens, keys)
    assert abs((took - program) / said - 1) < 0.15, f"{name}: {(took - program) / said - 1:+.0%}"


def init_model(folder, name, shape):
    run(folder, "init-model", "--arch", "qwen2", *[word for key, value in shape.items() for word in (f"--{key}", value)], "--tokenizer", "builtin",
        "--vocab", VOCAB, "--seed", 1, "--out", folder / name)


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    (folder / "rows.jsonl").write_text("".join(json.dumps({"messages": [{"role": "user", "content": f"{n:021}+1="}], "ground_truth": str(n + 1)}) + "\n"
                                               for n in range(50)))
    init_model(folder, "model", MODEL)
    init_model(folder, "tiny", TINY)
    took, said = measure(folder, "program", 256, GRPO, "tiny")
    program = took - said  # beyond what is said of it
    assert abs(program) < 0.2, f"the program: {program:+.2f} GB"
    compare(folder, "ppo", 2048, PPO, program)
    compare(folder, "grpo", 2048, GRPO, program)
    compare(folder, "grpo_short", 256, GRPO, program)
