#!/usr/bin/env python3
"""Writes tests/golden/model/<name>.json for each row of ROWS: models with gated delta nets, as transformers computes them.

By hand, with torch and transformers installed:  tests/oracles/make_golden_delta_nets.py [name ...]
Weights, inputs and numbers are make_golden_architectures.py's. transformers computes the recurrence in float32 whatever the
dtype; here it is float64, so that gradients are exact.
"""
import contextlib
import sys

import torch
from transformers import Qwen3_5MoeTextConfig, Qwen3_5TextConfig, Qwen3NextConfig

from make_golden_architectures import TOKENS, write_golden
from make_golden_model import SIZES

LAYERS = dict(num_hidden_layers=2, layer_types=["linear_attention", "full_attention"])
DELTA = dict(linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=5)
EXPERTS = dict(num_experts=5, num_experts_per_tok=2, moe_intermediate_size=12, shared_expert_intermediate_size=20)
ATTENTION = dict(num_attention_heads=4, num_key_value_heads=2, head_dim=24)
PARTS = SIZES | LAYERS | DELTA | ATTENTION | TOKENS
ROWS = {
    "qwen3_next": Qwen3NextConfig(**PARTS | EXPERTS),
    "qwen3_5": Qwen3_5TextConfig(**PARTS | dict(linear_conv_kernel_dim=3, tie_word_embeddings=True)),
    "qwen3_5_moe": Qwen3_5MoeTextConfig(**PARTS | EXPERTS),
}


@contextlib.contextmanager
def in_float64():
    """Numbers stay as wide as they come."""
    narrow = torch.Tensor.to, torch.Tensor.float

    def to(tensor, *args, **kwargs):
        if tensor.dtype == torch.float64 and torch.float32 in args:
            args = tuple(torch.float64 if a is torch.float32 else a for a in args)
        return narrow[0](tensor, *args, **kwargs)

    torch.Tensor.to = to
    torch.Tensor.float = lambda tensor, **kwargs: tensor if tensor.dtype == torch.float64 else narrow[1](tensor, **kwargs)
    try:
        yield
    finally:
        torch.Tensor.to, torch.Tensor.float = narrow


def main():
    for name in sys.argv[1:] or ROWS:
        write_golden("make_golden_delta_nets.py", name, ROWS[name], in_float64)


if __name__ == "__main__":
    main()
