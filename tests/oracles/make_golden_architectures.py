#!/usr/bin/env python3
"""Writes tests/golden/model/<name>.json for each row of ROWS: what transformers computes for tiny models of it.

By hand, with torch and transformers installed:  tests/oracles/make_golden_architectures.py [name ...]
Weights, inputs and numbers are make_golden_model.py's; `greedy` are the tokens that generate() appends to the last row.
Sizes are odd, ratios (heads to key/value heads, head size to hidden size, factors) those of the released models.
"""
import contextlib
import json
import sys

import torch
from transformers import AutoModelForTokenClassification
from transformers import (Gemma2Config, Gemma3TextConfig, GemmaConfig, Glm4Config, Glm4MoeConfig, GlmConfig, GraniteConfig, LlamaConfig,
                          Ministral3Config, MistralConfig, Olmo2Config, Olmo3Config, Phi3Config, Qwen2Config, SmolLM3Config)

from make_golden_model import EAGER, OUT, SIZES, causal, fill, language_model, probe, rounded, rows

TOKENS = dict(pad_token_id=None, eos_token_id=1, bos_token_id=2)
YARN = {"rope_type": "yarn", "rope_theta": 1e6, "factor": 16.0, "original_max_position_embeddings": 32, "beta_fast": 32.0,
        "beta_slow": 1.0, "mscale_all_dim": 1.0, "mscale": 1.0, "llama_4_scaling_beta": 0.1, "max_position_embeddings": 256}
ROWS = {
    "mistral_window": MistralConfig(**SIZES, num_attention_heads=4, num_key_value_heads=1, head_dim=10, sliding_window=7),
    "ministral3_yarn": Ministral3Config(**SIZES, num_attention_heads=4, num_key_value_heads=1, head_dim=10, **TOKENS,
                                        rope_parameters=YARN),
    "smollm3": SmolLM3Config(**SIZES, num_attention_heads=4, num_key_value_heads=1, no_rope_layers=[1, 0],
                             **TOKENS),
    "smollm3_window": SmolLM3Config(**SIZES, num_attention_heads=4, num_key_value_heads=2, no_rope_layer_interval=2,
                                    use_sliding_window=True, sliding_window=9, attention_bias=True, mlp_bias=True,
                                    tie_word_embeddings=False, **TOKENS),
    "qwen2_window": Qwen2Config(**SIZES, num_attention_heads=6, num_key_value_heads=2, use_sliding_window=True,
                                sliding_window=5, max_window_layers=1),
    "olmo2": Olmo2Config(**SIZES, num_attention_heads=6, num_key_value_heads=2, **TOKENS),
    "olmo3_yarn": Olmo3Config(**SIZES, num_attention_heads=4, num_key_value_heads=4, sliding_window=6, **TOKENS,
                              layer_types=["sliding_attention", "full_attention"],
                              rope_scaling={"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 32,
                                            "beta_fast": 32.0, "beta_slow": 1.0}),
    "granite": GraniteConfig(**SIZES, num_attention_heads=4, num_key_value_heads=1, tie_word_embeddings=True,
                             embedding_multiplier=12.0, residual_multiplier=0.22, attention_multiplier=0.015625 * 8,
                             logits_scaling=8.0),
    "phi3": Phi3Config(**SIZES, num_attention_heads=4, num_key_value_heads=2, sliding_window=11, **TOKENS,
                       rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.75}),
    "phi3_longrope": Phi3Config(**SIZES, num_attention_heads=4, num_key_value_heads=1, tie_word_embeddings=True, **TOKENS,
                                original_max_position_embeddings=128,
                                rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.75,
                                                 "short_factor": [1.0, 1.37], "long_factor": [1.1, 9.5]}),
    "phi3_longrope_beyond": Phi3Config(**SIZES, num_attention_heads=4, num_key_value_heads=2, **TOKENS, original_max_position_embeddings=16,
                                       rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 1.0,
                                                        "short_factor": [1.0, 1.2, 1.5], "long_factor": [1.3, 4.7, 12.0]}),
    "glm": GlmConfig(**SIZES, num_attention_heads=4, num_key_value_heads=2, head_dim=12, **TOKENS),
    "glm4": Glm4Config(**SIZES, num_attention_heads=4, num_key_value_heads=1, head_dim=12, **TOKENS),
    "glm4_moe": Glm4MoeConfig(**SIZES | dict(num_hidden_layers=3), num_attention_heads=4, num_key_value_heads=2, head_dim=12, **TOKENS,
                              attention_bias=True, n_routed_experts=12, n_group=3, topk_group=2, num_experts_per_tok=3,
                              moe_intermediate_size=14, n_shared_experts=2, routed_scaling_factor=2.5),
    "glm4_moe_norms": Glm4MoeConfig(**SIZES, num_attention_heads=4, num_key_value_heads=1, head_dim=20, **TOKENS, use_qk_norm=True,
                                    n_routed_experts=7, num_experts_per_tok=2, moe_intermediate_size=18, n_shared_experts=1,
                                    first_k_dense_replace=0, norm_topk_prob=False, tie_word_embeddings=True),
    "gemma": GemmaConfig(**SIZES, num_attention_heads=2, num_key_value_heads=1, head_dim=22, **TOKENS),
    "gemma2": Gemma2Config(**SIZES, num_attention_heads=4, num_key_value_heads=2, head_dim=14, sliding_window=8,
                           query_pre_attn_scalar=9, attn_logit_softcapping=2.5, final_logit_softcapping=4.0, **TOKENS),
    "gemma3": Gemma3TextConfig(**SIZES, num_attention_heads=4, num_key_value_heads=1, head_dim=14, sliding_window=8,
                               query_pre_attn_scalar=11, layer_types=["sliding_attention", "full_attention"], **TOKENS,
                               rope_parameters={"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                                                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}),
    "llama_linear": LlamaConfig(**SIZES, num_attention_heads=4, num_key_value_heads=2,
                                rope_parameters={"rope_type": "linear", "factor": 2.5, "rope_theta": 1e4}),
    "llama_dynamic": LlamaConfig(**SIZES, num_attention_heads=4, num_key_value_heads=2,
                                 rope_parameters={"rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4}),
}
for config in [ROWS["gemma2"]]:
    config._attn_implementation = "eager"  # others leave soft caps out


def beyond(config):
    """Of LongRoPE's two lists transformers chooses for each sequence by its length, a run of ours for all: these choose alike."""
    original = getattr(config, "original_max_position_embeddings", 0)
    return [ids for ids in rows() if len(ids) > original] if original < 70 else rows()


def critic(config, all_ids):
    """A value for each token; none where transformers has no such class."""
    config.num_labels = 1
    try:
        model = fill(AutoModelForTokenClassification.from_config(config, dtype=torch.float64, **EAGER), "float32")
        values = [model(torch.tensor([ids])).logits[0, :, 0] for ids in all_ids]
    except ValueError:
        return None
    sum((v * torch.cos(torch.arange(len(v), dtype=torch.float64))).sum() for v in values).backward()
    return {"values": [v.tolist() for v in values], "gradients": probe(model)}


@torch.no_grad()
def greedy(config, ids):
    model = fill(language_model(config).from_config(config, dtype=torch.float32, **EAGER), "float32")
    whole = list(ids)
    for _ in range(12):  # without a cache, whose use must not change anything
        whole.append(model(torch.tensor([whole]), use_cache=False).logits[0, -1].argmax().item())
    return whole[len(ids):]


def write_golden(script, name, config, precision=contextlib.nullcontext, more={}):
    """`precision`: a context of all but the greedy tokens; `more`: keys that a folder's config has beside those of `config`."""
    written = json.loads(config.to_json_string(use_diff=True)) | more
    golden = {"made_by": f"tests/oracles/{script}", "config": written, "dtype": "float32", "ids": beyond(config)}
    golden["greedy"] = greedy(config, golden["ids"][-1])
    with precision():
        golden["causal"] = causal(config, "float32", golden["ids"])
        golden["critic"] = critic(config, golden["ids"])
    (OUT / f"{name}.json").write_text(json.dumps(rounded(golden)) + "\n")
    print(name, "loss", golden["causal"]["loss"], "critic", golden["critic"] is not None)


def main():
    for name in sys.argv[1:] or ROWS:
        write_golden("make_golden_architectures.py", name, ROWS[name])


if __name__ == "__main__":
    main()
