#!/usr/bin/env python3
"""Writes tests/golden/model/*.json: what Hugging Face transformers computes for tiny models in float32/float64.

By hand, with torch and transformers installed:  tests/oracles/make_golden_model.py
Weights come from a formula (weight(k, i) below) that tests/model/golden.cpp repeats, so no weights are stored.
"""
import functools
import json
import pathlib

import torch
from transformers import (AutoModelForCausalLM, AutoModelForImageTextToText, AutoModelForTokenClassification, LlamaConfig, Qwen2Config, Qwen2MoeConfig,
                          Qwen3Config, Qwen3MoeConfig)

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/model"
SIZES = dict(vocab_size=61, hidden_size=24, intermediate_size=40, num_hidden_layers=2, max_position_embeddings=256)
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32, "rope_theta": 10000.0}
MODELS = {
    "qwen2_gqa_tied": (Qwen2Config(**SIZES, num_attention_heads=6, num_key_value_heads=2, tie_word_embeddings=True), "float32"),
    "qwen2_untied_bf16": (Qwen2Config(**SIZES, num_attention_heads=3, num_key_value_heads=3), "bfloat16"),
    "qwen3_gqa": (Qwen3Config(**SIZES, num_attention_heads=4, num_key_value_heads=2, head_dim=10,
                              rope_parameters={"rope_type": "default", "rope_theta": 1e6}), "float32"),
    "qwen3_tied_bias": (Qwen3Config(**SIZES, num_attention_heads=2, num_key_value_heads=1, head_dim=16, attention_bias=True,
                                    tie_word_embeddings=True), "float32"),
    "llama3_scaled": (LlamaConfig(**SIZES, num_attention_heads=6, num_key_value_heads=3, rope_parameters=LLAMA3), "float32"),
    "llama_bias_fp16": (LlamaConfig(**SIZES, num_attention_heads=2, num_key_value_heads=2, attention_bias=True,
                                    mlp_bias=True), "float16"),
    "qwen3_moe_dense_layer": (Qwen3MoeConfig(**SIZES | dict(num_hidden_layers=3), num_attention_heads=4, num_key_value_heads=2,
                                             head_dim=10, num_experts=7, num_experts_per_tok=3, norm_topk_prob=True,
                                             moe_intermediate_size=14, mlp_only_layers=[1]), "float32"),
    "qwen3_moe_sparse_step": (Qwen3MoeConfig(**SIZES, num_attention_heads=2, num_key_value_heads=1, head_dim=16, num_experts=5,
                                             num_experts_per_tok=2, norm_topk_prob=False, moe_intermediate_size=18,
                                             decoder_sparse_step=2, tie_word_embeddings=True), "float32"),
    "qwen2_moe_shared": (Qwen2MoeConfig(**SIZES, num_attention_heads=4, num_key_value_heads=4, num_experts=6,
                                        num_experts_per_tok=2, moe_intermediate_size=12, shared_expert_intermediate_size=22),
                         "float32"),
    "qwen2_moe_one_of_four": (Qwen2MoeConfig(**SIZES, num_attention_heads=2, num_key_value_heads=2, num_experts=4,
                                             num_experts_per_tok=1, moe_intermediate_size=10, shared_expert_intermediate_size=8,
                                             qkv_bias=False), "float32"),
}
EAGER = dict(experts_implementation="eager")  # grouped products know no float64
LENGTHS = [1, 2, 5, 17, 70]


def weight(k, numel):
    """Element i of the k-th parameter by name: a multiplicative hash of both, uniform in [-1, 1)."""
    i = torch.arange(numel, dtype=torch.int64)
    x = (i * 2654435761 + k * 97654321 + 12345) % 2**32
    x = (x * 1597334677 + 6789) % 2**32
    return x.double() / 2**31 - 1


def language_model(config):
    """The class whose logits are compared: the whole model, also where it has parts for images."""
    return AutoModelForImageTextToText if hasattr(config, "vision_config") else AutoModelForCausalLM


# Names of the model's modules and of its files, by model_type; the others have the same. "" splits no stacks of experts.
FILE_NAMES = {
    "mixtral": {".mlp.": ".block_sparse_moe.", "experts": ["w1", "w3", "w2"]},
    "minimax_m2": {".mlp.": ".block_sparse_moe.", "experts": ["w1", "w3", "w2"]},
    "granitemoe": {".experts.gate_up_proj": ".input_linear.weight", ".experts.down_proj": ".output_linear.weight",
                   ".router.": ".router.layer."},
    "qwen3_vl_moe": {"experts": []},
    "gpt_oss": {"experts": []},
}
OTHER_PARTS = ("model.visual.", "model.vision_tower.", "model.multi_modal_projector.")


def saved(model, of=lambda p: p.data):
    """Views of the parameters under the names that their files have: of each expert its own, which transformers 5 fuses. Beside
    them the buffers that are weights: Gemma 4's numbers of layers, whose experts are fused in files too, and biases of routers.
    Parts for images are left out."""
    found = {}
    renamed = FILE_NAMES.get(model.config.model_type, {})
    products = renamed.get("experts", ["gate_proj", "up_proj", "down_proj"])
    buffers = [(name, buffer) for name, buffer in model.named_buffers() if name.endswith((".layer_scalar", ".e_score_correction_bias"))]
    for name, parameter in [*model.named_parameters(), *buffers]:
        if name.startswith(OTHER_PARTS):
            continue
        tensor, is_split = of(parameter), ".mlp.experts." in name and products
        for ours, file in renamed.items():
            name = name if ours == "experts" else name.replace(ours, file)
        if not is_split:
            found[name] = tensor
            continue
        module, kind = name.rsplit(".", 1)
        for e in range(tensor.shape[0]):
            parts = tensor[e].chunk(2) if kind == "gate_up_proj" else [tensor[e]]
            for part, own in zip(products[:2] if kind == "gate_up_proj" else products[2:], parts):
                found[f"{module}.{e}.{part}.weight"] = own
    return dict(sorted(found.items()))


def fill(model, dtype):
    """In every model the parameters are numbered by sorted name; values are rounded to the stored dtype."""
    for k, (name, tensor) in enumerate(saved(model).items()):
        w = weight(k, tensor.numel()).reshape(tensor.shape)
        scale = 0.3 if tensor.dim() == 1 else (3.0 / tensor.shape[1]) ** 0.5
        stored = (1.0 + w * scale if "norm" in name or "scal" in name else w * scale).float().to(getattr(torch, dtype))
        tensor.copy_(stored)
    return model.eval()


def rows():
    generator = torch.Generator().manual_seed(5)
    return [torch.randint(0, SIZES["vocab_size"], (n,), generator=generator).tolist() for n in LENGTHS]


def probe(model):
    """Two numbers per gradient: its L2 norm and its product with formula numbers."""
    found = {}
    for k, (name, grad) in enumerate(saved(model, lambda p: p.grad).items()):
        if grad is None:  # of a buffer
            continue
        found[name] = [grad.norm().item(), (grad.flatten() * weight(k + 1000, grad.numel())).sum().item()]
    return found


def causal(config, dtype, all_ids):
    model = fill(language_model(config).from_config(config, dtype=torch.float64, **EAGER), dtype)
    result = {"log_probs": [], "entropy": [], "log_probs_hot": []}
    loss = 0
    for ids in all_ids:
        logits = model(torch.tensor([ids])).logits[0, :-1]
        labels = torch.tensor(ids[1:], dtype=torch.long)[:, None]
        log_p = torch.log_softmax(logits, -1)
        chosen, entropy = log_p.gather(1, labels)[:, 0], -(log_p.exp() * log_p).sum(-1)
        result["log_probs"].append(chosen.tolist())
        result["entropy"].append(entropy.tolist())
        result["log_probs_hot"].append(torch.log_softmax(logits / 1.7, -1).gather(1, labels)[:, 0].tolist())
        t = torch.arange(len(ids) - 1, dtype=torch.float64)
        loss = loss + (chosen * torch.cos(t)).sum() + 0.5 * (entropy * torch.sin(t)).sum()
    loss.backward()
    result["loss"] = loss.item()
    result["gradients"] = probe(model)
    return result


def replayed(config, dtype, all_ids):
    """Every token but the last of a sequence goes through experts that a formula names, weighed by the router as it would be."""
    model = fill(AutoModelForCausalLM.from_config(config, dtype=torch.float64, **EAGER), dtype)
    routers = [layer.mlp.gate for layer in model.model.layers if hasattr(layer.mlp, "gate")]
    others = []

    def forced(router, number, forward, hidden):
        logits, _, own = forward(hidden)
        tokens = torch.tensor(ids) * 3 + torch.arange(len(ids))
        chosen = (tokens[:, None] + number + torch.arange(router.top_k)) % router.num_experts
        chosen[-1] = own[-1]
        others.extend((chosen[:, :, None] != own[:, None]).all(2).flatten().tolist())
        scores = torch.softmax(logits, -1).gather(1, chosen)
        return logits, scores / scores.sum(-1, keepdim=True), chosen

    for number, router in enumerate(routers):
        router.forward = functools.partial(forced, router, number, router.forward)
    log_probs = []
    for ids in all_ids:
        log_p = torch.log_softmax(model(torch.tensor([ids])).logits[0, :-1], -1)
        log_probs.append(log_p.gather(1, torch.tensor(ids[1:], dtype=torch.long)[:, None])[:, 0].tolist())
    return {"log_probs": log_probs, "otherwise": sum(others) / len(others)}


def critic(config, dtype, all_ids):
    config.num_labels = 1
    model = fill(AutoModelForTokenClassification.from_config(config, dtype=torch.float64, **EAGER), dtype)
    values = [model(torch.tensor([ids])).logits[0, :, 0] for ids in all_ids]
    sum((v * torch.cos(torch.arange(len(v), dtype=torch.float64))).sum() for v in values).backward()
    return {"values": [v.tolist() for v in values], "gradients": probe(model)}


def rounded(x):
    if isinstance(x, float):
        return float(f"{x:.10g}")
    if isinstance(x, dict):
        return {k: rounded(v) for k, v in x.items()}
    return [rounded(v) for v in x] if isinstance(x, list) else x


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for name, (config, dtype) in MODELS.items():
        config_json = json.loads(config.to_json_string(use_diff=True))
        golden = {"made_by": "tests/oracles/make_golden_model.py", "config": config_json, "dtype": dtype, "ids": rows()}
        golden["causal"] = causal(config, dtype, golden["ids"])
        if name == "qwen3_moe_dense_layer":
            golden["replayed"] = replayed(config, dtype, golden["ids"])
        golden["critic"] = critic(config, dtype, golden["ids"])
        (OUT / f"{name}.json").write_text(json.dumps(rounded(golden)) + "\n")
        print(name, "loss", golden["causal"]["loss"])


if __name__ == "__main__":
    main()
