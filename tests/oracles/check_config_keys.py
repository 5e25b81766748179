#!/usr/bin/env python3
"""Which keys of config.json count in which architecture: `roll` beside Hugging Face transformers, key by key.

By hand, with torch and transformers installed:  tests/oracles/check_config_keys.py build/roll [architecture ...]
For every architecture a tiny model is saved, its config.json is changed in one key (another value, or without the key), and both
read it. Where transformers' log-probs change, those of `roll` must be the same as its; where transformers ignores the key, `roll`
must compute what it computed before. `roll` may refuse a folder that transformers reads, which is listed.
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

from check_hf import VARIANTS, hf_log_probs, random_model
from make_golden_further import DENSE, MIXTURES
from make_golden_gemma4 import ROWS as GEMMA4
from make_golden_model import EAGER

LIMIT = 5e-5
BASES = {"llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3 gqa", "mistral": "mistral_window", "ministral3": "ministral3_yarn",
         "smollm3": "smollm3", "granite": "granite", "olmo2": "olmo2", "olmo3": "olmo3_yarn", "phi3": "phi3", "glm": "glm", "glm4": "glm4",
         "glm4_moe": "glm4_moe", "gemma": "gemma", "gemma2": "gemma2", "gemma3_text": "gemma3", "qwen2_moe": "qwen2 moe",
         "qwen3_moe": "qwen3 moe", "qwen3_next": "qwen3_next", "qwen3_5_text": "qwen3_5", "qwen3_5_moe_text": "qwen3_5_moe"}
BASES |= {name: name for name in [*DENSE, *MIXTURES] if name != "internlm3"}
CONFIGS = {name: VARIANTS[row][0] for name, row in BASES.items()} | {"gemma4_text": GEMMA4["gemma4"], "gemma4_text mixture": GEMMA4["gemma4_mixture"]}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}


def changes(config):
    """Name of a change, keys that are set; None takes a key away."""
    layers = config["num_hidden_layers"]
    own_types = config.get("layer_types") or ["full_attention"] * layers
    sliding = ["sliding_attention" if t == "full_attention" else t for t in own_types]
    full = ["full_attention" if t == "sliding_attention" else t for t in own_types]
    values = {"partial_rotary_factor": [0.5, 1.0], "rope_theta": [300.0], "rope_local_base_freq": [300.0], "attention_bias": [True, False],
              "mlp_bias": [True, False], "qkv_bias": [False, True], "o_bias": [True], "sliding_window": [3, "null"], "sliding_window_pattern": [1, 2],
              "max_window_layers": [0, 1], "layer_types": [sliding, full], "head_dim": [6, "null"], "tie_word_embeddings": [True, False],
              "hidden_act": ["gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_accurate", "silu", "swish", "relu"],
              "hidden_activation": ["gelu_pytorch_tanh", "silu", "gelu"],
              "attn_logit_softcapping": [0.5, "null"], "final_logit_softcapping": [0.5, "null"], "query_pre_attn_scalar": [400],
              "embedding_multiplier": [3.0], "residual_multiplier": [3.0], "attention_multiplier": [3.0], "logits_scaling": [3.0],
              "rms_norm_eps": [0.5], "norm_eps": [0.5], "layer_norm_eps": [0.5], "use_qk_norm": [True, False], "qk_norm": [True],
              "no_rope_layers": [[0] * layers], "no_rope_layer_interval": [1],
              "norm_topk_prob": [True, False], "decoder_sparse_step": [2], "mlp_only_layers": [[0]], "routed_scaling_factor": [3.0],
              "n_group": [1], "topk_group": [1], "first_k_dense_replace": [0], "n_shared_experts": [0, 3], "num_experts_per_tok": [1],
              "shared_expert_intermediate_size": [8], "moe_intermediate_size": [8], "intermediate_size": [8], "full_attention_interval": [2],
              "pretraining_tp": [2], "original_max_position_embeddings": [16], "use_bidirectional_attention": [True], "attention_k_eq_v": [True, False],
              "num_key_value_heads": ["null", 1], "hidden_size_per_layer_input": [4], "global_head_dim": [8], "num_global_key_value_heads": [2],
              "num_kv_shared_layers": [1], "use_double_wide_mlp": [True], "enable_moe_block": [True], "attn_output_gate": [False],
              "linear_conv_kernel_dim": [2], "max_position_embeddings": [64], "scoring_func": ["softmax"], "topk_method": ["greedy"],
              "scale_embedding": [True], "rope_interleaved": [True], "logit_scale": [2.0], "attention_chunk_size": [3], "clip_qkv": [0.1], "use_bias": [True, False],
              "attention_out_bias": [True, False], "rotary_dim": [4], "residual_dropout": [0.2], "mlp_layer_types": [["dense"] * layers],
              "use_parallel_residual": [True], "num_experts": [3], "moe_layer_freq": [2], "num_nextn_predict_layers": [1]}
    for key, choices in values.items():
        for value in choices:
            if config.get(key, "absent") != (None if value == "null" else value):
                yield f"{key} = {json.dumps(value) if value is not sliding and value is not full else ('sliding' if value is sliding else 'full')}", {key: value}
    yield "window wanted", dict(use_sliding_window=True, sliding_window=3, max_window_layers=0)
    yield "window wanted, by max_window_layers", dict(use_sliding_window=True, sliding_window=3, max_window_layers=1, layer_types=None)
    yield "window not wanted", dict(use_sliding_window=False, sliding_window=3)
    yield "windows by layer_types", dict(sliding_window=3, layer_types=sliding)
    yield "windows by layer_types, wanted", dict(use_sliding_window=True, sliding_window=3, layer_types=sliding)
    theta = (config.get("rope_parameters") or {}).get("rope_theta", 10000.0)
    rope = config.get("rope_parameters") or {}
    of_kinds = any(isinstance(v, dict) for v in rope.values())
    for name, scaling in {"linear": {"rope_type": "linear", "factor": 2.0}, "yarn": YARN, "llama3": LLAMA3, "dynamic": {"rope_type": "dynamic", "factor": 2.0},
                          "mrope": {"rope_type": "default", "mrope_section": [1, 1, 1]}, "old mrope": {"type": "mrope", "mrope_section": [1, 1, 1]},
                          "old linear": {"type": "linear", "factor": 2.0}, "proportional": {"rope_type": "proportional", "factor": 2.0, "partial_rotary_factor": 0.5},
                          "partial": {"rope_type": "default", "partial_rotary_factor": 0.5},
                          "yarn partial": YARN | {"partial_rotary_factor": 0.5}}.items():
        if of_kinds:
            yield f"{name} rope, of layers with a window", dict(rope_parameters=rope | {"sliding_attention": {"rope_theta": theta} | scaling})
            yield f"{name} rope, of layers without", dict(rope_parameters=rope | {"full_attention": {"rope_theta": theta} | scaling})
            yield f"{name} rope, of all", dict(rope_parameters={"rope_theta": theta} | scaling)
        else:
            yield f"{name} rope", dict(rope_parameters={"rope_theta": theta} | scaling)
        yield f"{name} rope in version 4's keys", dict(rope_parameters=None, rope_theta=theta, rope_scaling=scaling)
        if "partial" not in name:
            yield f"{name} rope in version 4's keys, partial", dict(rope_parameters=None, rope_theta=theta, rope_scaling=scaling, partial_rotary_factor=0.5)
    yield "version 4's keys", dict(rope_parameters=None, rope_theta=theta)
    yield "version 4's keys, partial", dict(rope_parameters=None, rope_theta=theta, partial_rotary_factor=0.5)
    yield "both versions' keys", dict(rope_theta=300.0)
    yield "both versions' scalings", dict(rope_scaling={"rope_type": "linear", "factor": 2.0})
    for key in config:
        if key not in ("model_type", "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "transformers_version", "architectures"):
            yield f"without {key}", {key: None}


def changed(config, change):
    config = copy.deepcopy(config)
    for key, value in change.items():
        if value is None:
            config.pop(key, None)
        else:
            config[key] = None if value == "null" else value
    return config


def theirs(folder, rows, state):
    """Log-probs of transformers; None if it does not read the folder."""
    try:
        config = AutoConfig.from_pretrained(folder)
        if not torch.equal(state["lm_head.weight"], state["model.embed_tokens.weight"]):
            config.tie_word_embeddings = False  # as from_pretrained finds out of the weights
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager", **EAGER).eval()
        names = {n: p.shape for n, p in model.state_dict().items()}
        wrong = {n for n in names.keys() ^ state.keys() if n != "lm_head.weight" and not n.endswith("inv_freq")}
        wrong |= {n for n in names.keys() & state.keys() if names[n] != state[n].shape}
        if wrong:
            return "other weights: " + ", ".join(sorted(wrong))[:60]
        model.load_state_dict(state, strict=False)
        if config.get_text_config().tie_word_embeddings:
            model.tie_weights()
        return torch.cat(hf_log_probs(model, rows))
    except Exception as error:  # a change that transformers does not read is none of ours
        return f"refuses: {type(error).__name__} {str(error)[:60]}".replace("\n", " ")


def ours(binary, folder, rows):
    lines = "".join(json.dumps({"ids": ids}) + "\n" for ids in rows)
    done = subprocess.run([binary, "logprobs", "--model", folder], input=lines, capture_output=True, text=True)
    if done.returncode:
        return "refuses: " + done.stderr.strip().replace(str(folder), "")[:150]
    return torch.cat([torch.tensor(json.loads(line)["log_probs"]) for line in done.stdout.splitlines()])


def gap(a, b):
    return (a - b).abs().max().item()


def check(binary, name, config, folder):
    torch.manual_seed(sum(map(ord, name)))
    model = random_model(config)
    model.save_pretrained(folder)
    state = model.state_dict()
    written = json.loads((folder / "config.json").read_text())
    rows = [torch.randint(0, config.vocab_size, (n,)).tolist() for n in (2, 40)]
    base, own = theirs(folder, rows, state), ours(binary, folder, rows)
    if isinstance(base, str) or isinstance(own, str) or gap(base, own) > LIMIT:
        print(f"FAIL {name}: transformers {base if isinstance(base, str) else ''}, roll {own if isinstance(own, str) else ''}")
        return 1
    failed, counts = 0, {}
    for change, keys in changes(written):
        (folder / "config.json").write_text(json.dumps(changed(written, keys)))
        them, us = theirs(folder, rows, state), ours(binary, folder, rows)
        if isinstance(them, str):
            kind = "unread by transformers" if isinstance(us, str) else "READ BY ROLL ALONE"
        elif isinstance(us, str):
            kind = "REFUSED though ignored" if gap(them, base) == 0 else "refused"
        elif gap(us, them) <= LIMIT:
            kind = "ignored by both" if gap(them, base) == 0 else "obeyed by both"
        else:
            kind = "OBEYED BY ROLL ALONE" if gap(them, base) == 0 else "OTHERWISE"
            failed += 1
        counts[kind] = counts.get(kind, 0) + 1
        if kind not in ("unread by transformers", "ignored by both", "obeyed by both"):
            print(f"     {name:18} {change:44} {kind:24} {them if isinstance(them, str) else f'moves {gap(them, base):.1e}'}"
                  f" | {us if isinstance(us, str) else '' if isinstance(them, str) else f'gap {gap(us, them):.1e}'}", flush=True)
    print(f"{'FAIL' if failed else 'ok  '} {name}: {', '.join(f'{n} {kind}' for kind, n in sorted(counts.items()))}", flush=True)
    return failed


def main():
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    warnings.filterwarnings("ignore")
    failed = 0
    for name, config in CONFIGS.items():
        if len(sys.argv) > 2 and name not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            failed += check(sys.argv[1], name, config, pathlib.Path(folder))
    print(f"{failed} differ")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
