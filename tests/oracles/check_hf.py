#!/usr/bin/env python3
"""Compares `roll logprobs` with Hugging Face transformers in float32 on random-weight models.

By hand, with torch and transformers installed:  tests/oracles/check_hf.py build/roll [name ...]
For every architecture and variant: token log-probs of sequences of 1..700 tokens must agree within 2e-5 nats, and a folder
that `roll export` wrote must open in transformers and give the same log-probs again.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from transformers import (AutoModelForTokenClassification, LlamaConfig, Qwen2Config, Qwen2MoeConfig, Qwen3Config,
                          Qwen3MoeConfig)

from make_golden_architectures import ROWS
from make_golden_model import EAGER, language_model
from make_golden_delta_nets import ROWS as DELTA_NETS
from make_golden_further import MIXTURES, ROWS as FURTHER

LIMIT = 2e-5
LENGTHS = [1, 2, 3, 7, 31, 64, 65, 127, 128, 129, 255, 300, 511, 512, 513, 640, 699, 700]
SIZES = dict(vocab_size=503, hidden_size=96, intermediate_size=224, num_hidden_layers=3, max_position_embeddings=1024)
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 256, "rope_theta": 500000.0}
THETA = lambda theta: {"rope_type": "default", "rope_theta": theta}
VARIANTS = {
    "qwen2": (Qwen2Config(**SIZES, num_attention_heads=6, num_key_value_heads=6), torch.float32, "5GB"),
    "qwen2 gqa tied": (Qwen2Config(**SIZES, num_attention_heads=6, num_key_value_heads=2, tie_word_embeddings=True,
                                   rope_parameters=THETA(1e6)), torch.float32, "5GB"),
    "qwen2 gqa tied bf16": (Qwen2Config(**SIZES, num_attention_heads=6, num_key_value_heads=2, tie_word_embeddings=True),
                            torch.bfloat16, "5GB"),
    "qwen2 shards fp16": (Qwen2Config(**SIZES, num_attention_heads=6, num_key_value_heads=3), torch.float16, "300KB"),
    "qwen3 gqa": (Qwen3Config(**SIZES, num_attention_heads=6, num_key_value_heads=2, head_dim=32), torch.float32, "5GB"),
    "qwen3 tied bf16": (Qwen3Config(**SIZES, num_attention_heads=4, num_key_value_heads=4, head_dim=64,
                                    tie_word_embeddings=True, rope_parameters=THETA(1e6)), torch.bfloat16, "5GB"),
    "qwen3 bias": (Qwen3Config(**SIZES, num_attention_heads=4, num_key_value_heads=1, head_dim=20, attention_bias=True),
                   torch.float32, "5GB"),
    "llama": (LlamaConfig(**SIZES, num_attention_heads=6, num_key_value_heads=6), torch.float32, "5GB"),
    "llama3 gqa rope scaling": (LlamaConfig(**SIZES, num_attention_heads=6, num_key_value_heads=2, rope_parameters=LLAMA3),
                                torch.float32, "5GB"),
    "llama3 gqa rope scaling tied bf16": (LlamaConfig(**SIZES, num_attention_heads=6, num_key_value_heads=2,
                                                      tie_word_embeddings=True, rope_parameters=LLAMA3), torch.bfloat16, "5GB"),
    "llama bias": (LlamaConfig(**SIZES, num_attention_heads=6, num_key_value_heads=3, attention_bias=True, mlp_bias=True),
                   torch.float32, "5GB"),
    "qwen3 moe": (Qwen3MoeConfig(**SIZES, num_attention_heads=6, num_key_value_heads=2, head_dim=32, num_experts=13, num_experts_per_tok=3,
                                 norm_topk_prob=True, moe_intermediate_size=40, mlp_only_layers=[1]), torch.float32, "300KB"),
    "qwen3 moe tied bf16": (Qwen3MoeConfig(**SIZES, num_attention_heads=4, num_key_value_heads=4, head_dim=16, num_experts=8,
                                           num_experts_per_tok=2, moe_intermediate_size=56, decoder_sparse_step=2,
                                           tie_word_embeddings=True), torch.bfloat16, "5GB"),
    "qwen2 moe": (Qwen2MoeConfig(**SIZES, num_attention_heads=6, num_key_value_heads=6, num_experts=10, num_experts_per_tok=4,
                                 moe_intermediate_size=36, shared_expert_intermediate_size=90), torch.float32, "5GB"),
}
VARIANTS |= {name: (config, torch.float32, "5GB") for name, config in (ROWS | DELTA_NETS | FURTHER).items()}


def random_model(config):
    """Biases and norms too: what is 0 or 1 hides a mistake; attention and logits must not be flat."""
    model = language_model(config).from_config(config, **EAGER)
    with torch.no_grad():
        biases = [(name, buffer) for name, buffer in model.named_buffers() if name.endswith(".e_score_correction_bias")]
        for name, weight in [*model.named_parameters(), *biases]:
            if "norm" in name:
                weight.copy_(1 + 0.3 * torch.randn_like(weight))
            else:
                weight.copy_(torch.randn_like(weight) * (0.2 if weight.dim() == 1 else weight.shape[1] ** -0.5))
    return model.eval()


@torch.no_grad()
def hf_log_probs(model, rows):
    result = []
    for ids in rows:
        logits = model(torch.tensor([ids])).logits[0, :-1].float()
        result.append(torch.log_softmax(logits, -1).gather(1, torch.tensor(ids[1:], dtype=torch.long)[:, None])[:, 0])
    return result


def roll_log_probs(binary, folder, rows, *flags):
    lines = "".join(json.dumps({"ids": ids}) + "\n" for ids in rows)
    done = subprocess.run([binary, "logprobs", "--model", folder, *flags], input=lines, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"roll logprobs failed: {done.stderr}")
    return [torch.tensor(json.loads(line)["log_probs"]) for line in done.stdout.splitlines()]


def worst(ours, theirs):
    assert [len(x) for x in ours] == [len(x) for x in theirs]
    return (torch.cat(ours) - torch.cat(theirs)).abs().max().item()  # NaN stays NaN and fails


@torch.no_grad()
def check_critic(binary, name, config, dtype, folder):
    """A value model written by transformers, rewritten by `roll export`, opened by transformers again."""
    config.num_labels = 1
    try:
        critic = AutoModelForTokenClassification.from_config(config).to(dtype)
    except ValueError:
        return True  # there is no such class
    critic.save_pretrained(folder / "critic")
    subprocess.run([binary, "export", "--model", folder / "critic", "--out", folder / "critic_out"], check=True, stderr=subprocess.DEVNULL)
    again = AutoModelForTokenClassification.from_pretrained(folder / "critic_out", dtype=torch.float32)
    # Weights, not outputs: .to(bfloat16) above also rounds the first model's rotary buffers.
    theirs = dict(critic.named_parameters())
    same = all(torch.equal(p, theirs[n].float()) for n, p in again.named_parameters())
    if not same:
        print(f"FAIL {name}: the exported critic differs in transformers")
    return same


def check(binary, name, config, dtype, shard_size, folder):
    torch.manual_seed(sum(map(ord, name)))
    random_model(config).to(dtype).save_pretrained(folder / "in", max_shard_size=shard_size)
    text = config.get_text_config()
    longest = text.max_position_embeddings
    rows = [torch.randint(0, text.vocab_size, (n,)).tolist() for n in LENGTHS if n <= longest]
    # Of LongRoPE's lists transformers takes one for each row, a run of ours one for all rows.
    has_lists = text.rope_parameters.get("rope_type") == "longrope"
    original = config.rope_parameters["original_max_position_embeddings"] if has_lists else longest
    within, beyond = [row for row in rows if len(row) <= original], [row for row in rows if len(row) > original]
    model = language_model(config).from_pretrained(folder / "in", dtype=torch.float32, attn_implementation="eager", **EAGER).eval()
    theirs = hf_log_probs(model, rows)
    ours = roll_log_probs(binary, folder / "in", within)
    if beyond:
        ours += roll_log_probs(binary, folder / "in", beyond, "--max-length", str(longest))
    difference = worst(ours, theirs)
    subprocess.run([binary, "export", "--model", folder / "in", "--out", folder / "out", "--max-shard-size", "200KB"],
                   check=True, stderr=subprocess.DEVNULL)
    again = language_model(config).from_pretrained(folder / "out", dtype=torch.float32, attn_implementation="eager", **EAGER).eval()
    reopened = worst(hf_log_probs(again, rows), theirs)
    spread = torch.cat(theirs).std().item()
    limit = 2e-4 if name in DELTA_NETS else LIMIT  # where transformers in float32 is as far from itself in float64
    close = 1e-6 if "moe" in name or name in MIXTURES else 0  # grouped products of transformers depend on where weights lie
    ok = difference <= limit and reopened <= close and check_critic(binary, name, config, dtype, folder)
    print(f"{'ok  ' if ok else 'FAIL'} {name:36} max |difference| {difference:.2e} nats (log-probs spread {spread:.2f}); "
          f"exported and opened by transformers: {reopened:.1e}", flush=True)
    return ok


def main():
    transformers.utils.logging.disable_progress_bar()
    binary = sys.argv[1]
    results = []
    for name, (config, dtype, shard_size) in VARIANTS.items():
        if len(sys.argv) > 2 and name not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            results.append(check(binary, name, config, dtype, shard_size, pathlib.Path(folder)))
    print(f"{sum(results)} of {len(results)} agree")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
