"""Tiny models of each architecture that GGUF files can hold, and what the program (the first argument) gives of a model."""
import json
import pathlib
import subprocess
import sys

import numpy
from safetensors.numpy import load_file, save_file

binary = pathlib.Path(sys.argv[1]).resolve()
IDS = [[3, 5, 8, 13, 21, 34, 55, 89, 90, 17, 4, 200, 201, 9, 9, 1], [250, 2, 7, 77, 7, 77, 140, 141, 142, 30]]
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=64, beta_fast=24.0, beta_slow=2.0)
LONGROPE = dict(rope_type="longrope", short_factor=[1.0, 1.2, 1.5, 1.7], long_factor=[1.1, 2.5, 4.5, 9.5], attention_factor=1.19)
FULL = dict(rope_type="default", rope_theta=10000.0)
SHAPES = {  # flags of init-model, and changes of its config.json
    "llama": (["--arch", "llama"], {}),
    "llama, tied, Llama 3's RoPE": (["--arch", "llama", "--tie"], dict(rope_scaling=LLAMA3, rms_norm_eps=1e-5)),
    "llama, YaRN": (["--arch", "llama"], dict(rope_scaling=YARN)),
    "mistral": (["--arch", "mistral"], dict(sliding_window=6)),
    "qwen2": (["--arch", "qwen2", "--tie"], {}),
    "qwen3": (["--arch", "qwen3", "--head-dim", "16"], {}),
    "qwen3_moe": (["--arch", "qwen3_moe", "--experts", "5", "--expert-intermediate", "12", "--head-dim", "16"], {}),
    "mixtral": (["--arch", "mixtral", "--experts", "5", "--expert-intermediate", "40"], {}),
    "gpt_oss": (["--arch", "gpt_oss", "--experts", "5", "--expert-intermediate", "40", "--head-dim", "16", "--layers", "4"],
                dict(sliding_window=6, rope_parameters=dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, beta_fast=32.0, beta_slow=1.0,
                                                            original_max_position_embeddings=64, truncate=False))),
    "gemma": (["--arch", "gemma", "--tie", "--head-dim", "12"], {}),
    "gemma2": (["--arch", "gemma2", "--tie", "--head-dim", "12"], dict(query_pre_attn_scalar=12, sliding_window=6, attn_logit_softcapping=2.5,
                                                                   final_logit_softcapping=4.0)),
    "gemma3": (["--arch", "gemma3_text", "--tie", "--head-dim", "12", "--layers", "7"],
               dict(query_pre_attn_scalar=12, sliding_window=6, rope_theta=1e6, rope_scaling=dict(rope_type="linear", factor=8.0),
                    rope_local_base_freq=20000.0)),
    "phi3": (["--arch", "phi3"], dict(partial_rotary_factor=0.75)),
    "phi3, LongRoPE": (["--arch", "phi3"], dict(rope_scaling=LONGROPE, original_max_position_embeddings=128, sliding_window=11)),
    "smollm3": (["--arch", "smollm3", "--tie", "--layers", "5"], {}),
    "olmo2": (["--arch", "olmo2"], {}),
    "olmo3": (["--arch", "olmo3", "--layers", "5"], dict(sliding_window=6, rope_theta=10000.0, rope_parameters=dict(
        full_attention=FULL, sliding_attention=FULL))),
    "granite": (["--arch", "granite"], dict(embedding_multiplier=3.0, residual_multiplier=0.22, attention_multiplier=0.25, logits_scaling=8.0)),
    "glm4": (["--arch", "glm4"], dict(partial_rotary_factor=0.5)),
}


def roll(*arguments, stdin="", code=0):
    done = subprocess.run([binary, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}"
    return done.stdout if code == 0 else done.stderr


def make_model(folder, flags, changes=None, vocab=260, tokenizer="none"):
    """A model whose norms and biases do something, too."""
    sizes = ["--hidden", "32", "--intermediate", "40", "--layers", "3", "--heads", "4", "--kv-heads", "2", "--max-positions", "256"]
    for flag in flags[::2] if "--tie" not in flags else flags:
        if flag in sizes:
            place = sizes.index(flag)
            del sizes[place:place + 2]
    roll("init-model", *sizes, "--vocab", vocab, "--tokenizer", tokenizer, "--seed", "5", *flags, "--out", folder)
    tensors = load_file(folder / "model.safetensors")
    for number, tensor in enumerate(tensors.values()):
        if tensor.ndim == 1:
            tensor += (0.2 * numpy.sin(number + numpy.arange(tensor.size))).astype(numpy.float32)
        else:
            tensor *= 5
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | (changes or {})))


def log_probs(model):
    lines = roll("logprobs", "--model", model, stdin="".join(json.dumps(dict(ids=ids)) + "\n" for ids in IDS)).splitlines()
    return numpy.concatenate([json.loads(line)["log_probs"] for line in lines])


def greedy(model):
    lines = roll("generate", "--model", model, "--temperature", 0, "--max-new-tokens", 20, "--ignore-eos",
                 stdin="".join(json.dumps(dict(ids=ids)) + "\n" for ids in IDS))
    return [json.loads(line)["ids"] for line in lines.splitlines()]
