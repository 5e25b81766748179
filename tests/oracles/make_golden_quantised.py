#!/usr/bin/env python3
"""Writes tests/golden/lora/quantised.json: what bitsandbytes makes of small matrices, and of these again, on the CPU.

By hand, with torch and bitsandbytes installed:  tests/oracles/make_golden_quantised.py
Matrices come from make_golden_model.py's formula; of the float32 results the bits are written.
"""
import json
import pathlib

import bitsandbytes.functional as F
import torch

from make_golden_model import weight

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/lora/quantised.json"
SHAPES = [(3, 128), (5, 24), (4, 50)]  # whole blocks, blocks over the ends of rows, a last block that is not full


def bits(tensor):
    return tensor.contiguous().view(torch.int32).flatten().tolist()


def main():
    found = []
    for k, shape in enumerate(SHAPES):
        w = weight(k, shape[0] * shape[1])
        w = (w * w.abs() ** 0.5 * 0.05).reshape(shape).float()
        w[1, :8] = 0
        codes, state = F.quantize_4bit(w, blocksize=64, quant_type="nf4", compress_statistics=False)
        rows, largest, _ = F.int8_vectorwise_quant(w.half())
        found.append(dict(shape=shape, nf4_codes=codes.flatten().tolist(), nf4_scales=bits(state.absmax),
                          nf4=bits(F.dequantize_4bit(codes, state)), int8_codes=rows.flatten().tolist(),
                          int8_scales=bits(largest), int8=bits(F.int8_vectorwise_dequant(rows, largest))))
    OUT.write_text(json.dumps(dict(made_by="tests/oracles/make_golden_quantised.py", matrices=found)) + "\n")


if __name__ == "__main__":
    main()
