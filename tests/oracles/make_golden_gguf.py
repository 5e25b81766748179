#!/usr/bin/env python3
"""Writes tests/golden/checkpoint/gguf_blocks.json: random blocks of each number format, and what the package gguf makes of them.

By hand, with gguf installed:  tests/oracles/make_golden_gguf.py
"""
import json
import pathlib

import gguf
import numpy
from gguf import GGMLQuantizationType as Kind

OUT = pathlib.Path(__file__).resolve().parent.parent / "golden/checkpoint/gguf_blocks.json"
HALVES = {Kind.Q4_0: [0], Kind.Q4_1: [0, 2], Kind.Q5_0: [0], Kind.Q5_1: [0, 2], Kind.Q8_0: [0], Kind.Q2_K: [80, 82], Kind.Q3_K: [108],
          Kind.Q4_K: [0, 2], Kind.Q5_K: [0, 2], Kind.Q6_K: [208]}

random, rows = numpy.random.default_rng(9), []
for kind, places in HALVES.items():
    width = gguf.GGML_QUANT_SIZES[kind][1]
    blocks = random.integers(0, 256, (3, width), numpy.uint8)
    for place in places:  # an ordinary scale, a large one, and one below the normal halves
        scales = numpy.array([random.uniform(-1, 1), 60000 * random.uniform(-1, 1), 3e-6], numpy.float16)
        blocks[:, place:place + 2] = scales[:, None].view(numpy.uint8)
    values = gguf.quants.dequantize(blocks.reshape(-1), kind)
    rows.append(dict(code=int(kind), name=kind.name, blocks=blocks.tobytes().hex(), values=values.astype(numpy.float32).tobytes().hex()))
OUT.write_text(json.dumps(rows, indent=0) + "\n")
