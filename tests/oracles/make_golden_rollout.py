#!/usr/bin/env python3
"""Writes tests/golden/rollout/processors.json: what Hugging Face's logits processors make of random rows.

By hand, with torch and transformers installed:  tests/oracles/make_golden_rollout.py
Each case holds logits (multiples of 1/32, exact in float32), the ids that penalties see, the sampling arguments, and the
probabilities after logit bias, repetition penalty, temperature, top_k, top_p and min_p in Hugging Face's order, in float64.
"""
import json
import pathlib

import torch
from transformers import (MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, SequenceBiasLogitsProcessor, TemperatureLogitsWarper,
                          TopKLogitsWarper, TopPLogitsWarper)

CASES = [
    dict(temperature=0.7), dict(top_k=5), dict(top_p=0.6), dict(min_p=0.15), dict(repetition_penalty=1.5),
    dict(temperature=1.3, top_k=12, top_p=0.8), dict(temperature=0.6, top_p=0.9, min_p=0.05),
    dict(temperature=1.1, top_k=20, top_p=0.95, min_p=0.1, repetition_penalty=1.2), dict(top_p=0.05), dict(top_k=63),
    dict(temperature=2.0, top_p=0.3, repetition_penalty=0.8), dict(logit_bias={3: 2.5, 17: -4.0, 40: 1.25}),
    dict(temperature=0.8, top_k=9, top_p=0.9, repetition_penalty=1.4, logit_bias={i: (i % 9 - 4) / 2 for i in range(0, 64, 3)}),
]


def probabilities(logits, ids, args):
    ids = torch.tensor([ids])
    row = logits[None]
    if "logit_bias" in args:
        row = SequenceBiasLogitsProcessor({(token,): bias for token, bias in args["logit_bias"].items()})(ids, row)
    steps = [(RepetitionPenaltyLogitsProcessor, "repetition_penalty", 1.0), (TemperatureLogitsWarper, "temperature", 1.0),
             (TopKLogitsWarper, "top_k", 0), (TopPLogitsWarper, "top_p", 1.0), (MinPLogitsWarper, "min_p", 0.0)]
    for processor, key, off in steps:
        if args.get(key, off) != off:
            row = processor(args[key])(ids, row)
    return torch.softmax(row, -1)[0]


def main():
    torch.manual_seed(1)
    cases = []
    for args in CASES:
        # Distinct values: among equal logits HF leaves the order to torch.sort.
        logits = (torch.randperm(256)[:64].double() - 128) / 32
        ids = torch.randint(0, 64, (9,)).tolist()
        cases.append(dict(args=args, ids=ids, logits=logits.tolist(), probabilities=[float(f"{p:.9g}") for p in probabilities(logits, ids, args).tolist()]))
    file = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/rollout/processors.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"script": "tests/oracles/make_golden_rollout.py", "cases": cases}).replace('{"args"', '\n{"args"') + "\n")


if __name__ == "__main__":
    main()
