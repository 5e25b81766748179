#!/usr/bin/env python3
"""Writes tests/golden/model/block_floats.json: MXFP4 and FP8 weights, as transformers dequantises them.

By hand, with torch and transformers installed:  tests/oracles/make_golden_block_floats.py
Codes and scales come from formulas, which tests/checkpoint/block_floats_test.cpp repeats.
"""
import json
import pathlib

import torch
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

OUT = pathlib.Path(__file__).resolve().parent.parent / "golden/model/block_floats.json"


def mxfp4():
    codes = torch.arange(2 * 3 * 2 * 16).mul(37).add(11).remainder(256).to(torch.uint8).view(2, 3, 2, 16)
    scales = torch.arange(2 * 3 * 2).remainder(9).add(120).to(torch.uint8).view(2, 3, 2)
    return convert_moe_packed_tensors(codes, scales, dtype=torch.bfloat16).float()


def fp8():
    """Blocks of 128 x 128 elements, the last ones smaller; transformers multiplies in float32."""
    codes = torch.arange(130 * 200).mul(7).remainder(126).to(torch.uint8).view(130, 200).view(torch.float8_e4m3fn)
    scales = torch.tensor([[0.25, 1.5], [3.0, 0.7]])
    wide = scales.repeat_interleave(128, 0).repeat_interleave(128, 1)[:130, :200]
    return (codes.float() * wide).to(torch.bfloat16).float()


def main():
    weight = fp8()
    golden = {"made_by": "tests/oracles/make_golden_block_floats.py", "mxfp4": mxfp4().tolist(),
              "fp8": {"rows": weight[::43].tolist(), "sum": weight.double().sum().item()}}
    OUT.write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
