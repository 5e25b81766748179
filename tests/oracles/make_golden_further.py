#!/usr/bin/env python3
"""Writes tests/golden/model/<name>.json for each row of ROWS: further architectures, and texts of multimodal ones.

By hand, with torch and transformers installed:  tests/oracles/make_golden_further.py [name ...]
Weights, inputs and numbers are make_golden_architectures.py's. transformers computes norms and RoPE in float32 whatever the
dtype; here they are float64, so that gradients are exact.
"""
import sys

from transformers import (CwmConfig, DeepseekV2Config, DeepseekV3Config, Dots1Config, Ernie4_5Config, Exaone4Config,
                          FlexOlmoConfig, Gemma3Config, Glm4MoeLiteConfig, Glm4vConfig, Glm4vMoeConfig, GptOssConfig,
                          GraniteMoeConfig, HeliumConfig, HunYuanDenseV1Config, IQuestCoderConfig, LlamaConfig, MellumConfig,
                          MiniMaxM2Config, MinistralConfig, Mistral3Config, MixtralConfig, OlmoeConfig, Qwen2_5_VLConfig,
                          Qwen3VLConfig, Qwen3VLMoeConfig, SeedOssConfig, SolarOpenConfig)

from make_golden_architectures import TOKENS, YARN, write_golden
from make_golden_delta_nets import in_float64
from make_golden_model import SIZES

HEADS = dict(num_attention_heads=4, num_key_value_heads=2)
PARTS = SIZES | HEADS | TOKENS
EXPERTS = dict(num_local_experts=6, num_experts_per_tok=2)
SIGMOIDS = dict(n_routed_experts=7, num_experts_per_tok=3, moe_intermediate_size=14)
TYPES = ["sliding_attention", "full_attention"]
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32, "rope_theta": 10000.0}
KINDS = {"full_attention": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "rope_theta": 5e5},
         "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
DENSE = {
    "seed_oss": SeedOssConfig(**PARTS, head_dim=10, attention_out_bias=True, attention_dropout=0.1, residual_dropout=0.1),
    "ernie4_5": Ernie4_5Config(**PARTS, head_dim=10, use_bias=True),
    "helium": HeliumConfig(**PARTS, head_dim=6, attention_bias=True, mlp_bias=True),
    "cwm": CwmConfig(**PARTS, head_dim=10, mlp_bias=True, sliding_window=7, layer_types=TYPES[::-1], rope_parameters=LLAMA3),
    "ministral": MinistralConfig(**PARTS, head_dim=10, sliding_window=7, layer_types=TYPES),
    "exaone4": Exaone4Config(**PARTS, sliding_window=7, sliding_window_pattern=2),
    "exaone4_no_window": Exaone4Config(**PARTS, sliding_window=None, layer_types=[TYPES[1]] * 2, tie_word_embeddings=True),
    "hunyuan": HunYuanDenseV1Config(**PARTS, head_dim=10, attention_bias=True),
    "hunyuan_alpha": HunYuanDenseV1Config(**PARTS, head_dim=12, tie_word_embeddings=True,
                                          rope_parameters={"rope_type": "dynamic", "alpha": 50.0, "factor": 1.0, "rope_theta": 1e4}),
    "iquestcoder": IQuestCoderConfig(**PARTS, head_dim=10, attention_bias=True),
    "internlm3": LlamaConfig(**PARTS, attention_bias=True, mlp_bias=True),
}
MIXTURES = {
    "mixtral": MixtralConfig(**PARTS | EXPERTS, sliding_window=9),
    "minimax_m2": MiniMaxM2Config(**PARTS | EXPERTS, head_dim=12,
                                  rope_parameters={"rope_type": "default", "rope_theta": 1e6, "partial_rotary_factor": 0.5}),
    "granitemoe": GraniteMoeConfig(**PARTS | EXPERTS, attention_bias=True, tie_word_embeddings=True, embedding_multiplier=12.0,
                                   residual_multiplier=0.22, attention_multiplier=0.125, logits_scaling=6.0),
    "olmoe": OlmoeConfig(**PARTS, num_experts=6, num_experts_per_tok=2, attention_bias=True),
    "flex_olmo": FlexOlmoConfig(**PARTS, num_experts=6, num_experts_per_tok=2, norm_topk_prob=True),
    "mellum": MellumConfig(**PARTS, head_dim=10, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=14, sliding_window=7,
                           layer_types=TYPES, mlp_layer_types=["dense", "sparse"], rope_parameters=KINDS),
    "dots1": Dots1Config(**PARTS | SIGMOIDS, head_dim=10, n_shared_experts=1, first_k_dense_replace=1, sliding_window=7,
                         max_window_layers=1, routed_scaling_factor=2.5, norm_topk_prob=True),
    "solar_open": SolarOpenConfig(**PARTS | SIGMOIDS, head_dim=10, n_shared_experts=2, attention_bias=True),
}
LATENTS = SIZES | TOKENS | dict(num_attention_heads=4, num_key_value_heads=4, kv_lora_rank=10, qk_rope_head_dim=6, qk_nope_head_dim=8,
                                v_head_dim=12)
STRETCHED = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "rope_theta": 1e4, "mscale": 0.8,
             "mscale_all_dim": 1.2}
LATENT = {
    "deepseek_v3": DeepseekV3Config(**LATENTS, n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=14, q_lora_rank=14,
                                    n_group=4, topk_group=2, first_k_dense_replace=1, attention_bias=True),
    "deepseek_v3_yarn": DeepseekV3Config(**LATENTS | dict(v_head_dim=16), n_routed_experts=6, num_experts_per_tok=2,
                                         moe_intermediate_size=14, q_lora_rank=None, n_group=1, topk_group=1, first_k_dense_replace=1,
                                         n_shared_experts=2, rope_interleave=False, rope_parameters=STRETCHED),
    "deepseek_v2": DeepseekV2Config(**LATENTS, n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=14, q_lora_rank=14,
                                    n_group=4, topk_group=2, topk_method="group_limited_greedy", first_k_dense_replace=1,
                                    routed_scaling_factor=2.0, rope_parameters=STRETCHED | {"mscale": 0.7, "mscale_all_dim": 0.7}),
    "deepseek_v2_lite": DeepseekV2Config(**LATENTS, n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=14, q_lora_rank=None,
                                         mlp_bias=False, tie_word_embeddings=True),
    "glm4_moe_lite": Glm4MoeLiteConfig(**LATENTS, n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=14, q_lora_rank=14,
                                       rope_parameters={"rope_type": "default", "rope_theta": 1e6}),
}
SINKS = {"gpt_oss": GptOssConfig(**PARTS | EXPERTS, head_dim=12, sliding_window=7, rope_parameters={
    "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "rope_theta": 1e4, "truncate": False})}
SINKS["gpt_oss"]._attn_implementation = "eager"  # others have no sinks
BOXES = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, patch_size=4, image_size=8)
VISUAL = dict(depth=1, hidden_size=16, num_heads=2, intermediate_size=24, out_hidden_size=24)
DEEP = dict(VISUAL, deepstack_visual_indexes=[0], num_position_embeddings=16)
SECTIONS = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [1, 1, 1]}
WOVEN = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 2, 2], "mrope_interleaved": True}
PIXTRAL = dict(BOXES, model_type="pixtral", head_dim=8)
MULTIMODAL = {
    "gemma3_vision": Gemma3Config(vision_config=BOXES, text_config=dict(
        PARTS, head_dim=14, sliding_window=8, query_pre_attn_scalar=11, layer_types=TYPES, rope_parameters={
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}})),
    "mistral3": Mistral3Config(vision_config=PIXTRAL, tie_word_embeddings=False, text_config=dict(
        PARTS, model_type="mistral", head_dim=10, sliding_window=None)),
    "mistral3_ministral": Mistral3Config(vision_config=PIXTRAL, text_config=dict(
        PARTS, model_type="ministral3", head_dim=10, rope_parameters=YARN)),
    "qwen2_5_vl": Qwen2_5_VLConfig(vision_config=VISUAL, text_config=dict(PARTS, rope_parameters=SECTIONS)),
    "qwen3_vl": Qwen3VLConfig(vision_config=DEEP, tie_word_embeddings=True, text_config=dict(PARTS, head_dim=12, rope_parameters=WOVEN)),
    "qwen3_vl_moe": Qwen3VLMoeConfig(vision_config=DEEP, text_config=dict(
        PARTS, head_dim=12, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=14, rope_parameters=WOVEN)),
    "glm4v": Glm4vConfig(vision_config=VISUAL, text_config=dict(PARTS, rope_parameters=SECTIONS | {"partial_rotary_factor": 1.0})),
    "glm4v_moe": Glm4vMoeConfig(vision_config=VISUAL, text_config=dict(
        PARTS | SIGMOIDS, head_dim=12, first_k_dense_replace=1, rope_parameters=SECTIONS | {"partial_rotary_factor": 0.5})),
}
ROWS = DENSE | MIXTURES | LATENT | SINKS | MULTIMODAL
# What a folder says where transformers, or another class of it, has other keys.
FOLDERS = {"internlm3": dict(model_type="internlm3", qkv_bias=True, bias=True, attention_bias=None, mlp_bias=None),
           "minimax_m2": dict(rotary_dim=6, rope_parameters=None, rope_theta=1e6)}


def main():
    for name in sys.argv[1:] or ROWS:
        write_golden("make_golden_further.py", name, ROWS[name], in_float64, FOLDERS.get(name, {}))


if __name__ == "__main__":
    main()
