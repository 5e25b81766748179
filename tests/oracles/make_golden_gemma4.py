#!/usr/bin/env python3
"""Writes tests/golden/model/<name>.json for each row of ROWS: the forms of Gemma 4, as transformers computes them.

By hand, with torch and transformers installed:  tests/oracles/make_golden_gemma4.py [name ...]
Weights, inputs and numbers are make_golden_architectures.py's. transformers computes its norms in float32 whatever the dtype;
here they are float64, so that gradients are exact.
"""
import sys

from transformers import Gemma4TextConfig

from make_golden_architectures import TOKENS, write_golden
from make_golden_delta_nets import in_float64
from make_golden_model import SIZES

SLIDING, FULL = "sliding_attention", "full_attention"
PARTS = SIZES | TOKENS | dict(num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=10, sliding_window=8,
                              layer_types=[SLIDING, FULL, FULL], hidden_size_per_layer_input=0, global_head_dim=16,
                              final_logit_softcapping=4.0)
# What a folder may say where transformers writes other keys: those of the released ones, and a last layer that it changes.
FOLDERS = {"gemma4": dict(per_layer_config=None, global_head_dim=16, num_global_key_value_heads=1),
           "gemma4_own_values": dict(layer_types=[SLIDING] * 3)}
ROWS = {
    "gemma4": Gemma4TextConfig(**PARTS | dict(attention_k_eq_v=True, num_global_key_value_heads=1)),
    "gemma4_own_values": Gemma4TextConfig(**PARTS | dict(attention_bias=True, final_logit_softcapping=None, tie_word_embeddings=False,
                                                         use_bidirectional_attention="vision", layer_types=[SLIDING] * 3)),
    # The layers with a window read the second one's keys, the others the third one's.
    "gemma4_inputs": Gemma4TextConfig(**PARTS | dict(num_hidden_layers=5, layer_types=[SLIDING, SLIDING, FULL, SLIDING, FULL],
                                                     num_kv_shared_layers=2, use_double_wide_mlp=True, num_key_value_heads=1,
                                                     hidden_size_per_layer_input=6, vocab_size_per_layer_input=67)),
    "gemma4_mixture": Gemma4TextConfig(**PARTS | dict(num_hidden_layers=2, layer_types=[SLIDING, FULL], attention_k_eq_v=True,
                                                      enable_moe_block=True, num_experts=6, top_k_experts=2,
                                                      moe_intermediate_size=14)),
}


def main():
    for name in sys.argv[1:] or ROWS:
        write_golden("make_golden_gemma4.py", name, ROWS[name], in_float64, FOLDERS.get(name, {}))


if __name__ == "__main__":
    main()
