#!/usr/bin/env python3
"""Writes tests/golden/lora/bitsandbytes: folders of tiny models as transformers saves them with bitsandbytes, and what
bitsandbytes makes of their weights again, on the CPU.

By hand, with torch, transformers and bitsandbytes installed:  tests/oracles/make_golden_bitsandbytes.py
expected.json says of each quantised matrix the sum of its bits, each times its place from 1, in the dtype that it was
quantised from (int8: float32), and of each row of ids the log-probs of the model that has these matrices, in float64.
"""
import json
import pathlib
import tempfile

import bitsandbytes as bnb
import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Qwen2Config

from make_golden_model import rounded, weight

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/lora/bitsandbytes"
IDS = [[1, 2, 3], [7, 11, 0, 4, 5, 15, 9, 2, 2]]
NF4 = dict(load_in_4bit=True, bnb_4bit_quant_type="nf4")
CASES = {
    "nf4": (1, torch.bfloat16, NF4),
    "nested": (2, torch.float16, dict(NF4, bnb_4bit_use_double_quant=True, llm_int8_skip_modules=["lm_head", "model.layers.0.mlp", "v_proj"])),
    "int8": (1, torch.bfloat16, dict(load_in_8bit=True)),
}


def dequantised(module):
    if isinstance(module, bnb.nn.Linear4bit):
        return bnb.functional.dequantize_4bit(module.weight.data, module.weight.quant_state)
    return bnb.functional.int8_vectorwise_dequant(module.weight.data, module.weight.SCB if module.state.SCB is None else module.state.SCB)


def digest(matrix):
    bits = matrix.contiguous().view(torch.int32 if matrix.dtype == torch.float32 else torch.int16).flatten().long()
    return (bits * torch.arange(1, bits.numel() + 1)).sum().item()


def golden(name, layers, dtype, options):
    config = Qwen2Config(vocab_size=16, hidden_size=64, intermediate_size=24, num_hidden_layers=layers, num_attention_heads=2,
                         num_key_value_heads=1, max_position_embeddings=64, tie_word_embeddings=False)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    for k, (_, p) in enumerate(sorted(model.named_parameters())):
        w = weight(k, p.numel()).reshape(p.shape)
        p.data.copy_(1 + 0.1 * w if "norm" in _ else w * (3.0 / p.shape[-1]) ** 0.5)
    with tempfile.TemporaryDirectory() as plain:
        model.save_pretrained(plain)
        opened = AutoModelForCausalLM.from_pretrained(plain, quantization_config=BitsAndBytesConfig(**options), dtype=dtype)
        wide = AutoModelForCausalLM.from_pretrained(plain, dtype=dtype).double()
    opened.save_pretrained(OUT / name)
    sums = {}
    for module, linear in opened.named_modules():
        if isinstance(linear, (bnb.nn.Linear4bit, bnb.nn.Linear8bitLt)):
            matrix = dequantised(linear)
            sums[f"{module}.weight"] = digest(matrix)
            wide.get_submodule(module).weight.data.copy_(matrix.double())
    log_probs = []
    with torch.no_grad():
        for ids in IDS:
            log_p = torch.log_softmax(wide(torch.tensor([ids])).logits[0, :-1], -1)
            log_probs.append(log_p.gather(1, torch.tensor(ids[1:])[:, None])[:, 0].tolist())
    (OUT / name / "generation_config.json").unlink()
    return dict(sums=sums, log_probs=log_probs)


if __name__ == "__main__":
    found = {name: golden(name, *case) for name, case in CASES.items()}
    (OUT / "expected.json").write_text(json.dumps(dict(made_by="tests/oracles/make_golden_bitsandbytes.py", ids=IDS, **rounded(found))) + "\n")
