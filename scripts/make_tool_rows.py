#!/usr/bin/env python3
"""Writes sft.jsonl: sums answered with Python or by a guess, for the warm-up of configs/python_tool_cpu.yaml.

Most rows guess, and guess wrong; the others run a program and say what it printed. The sums are drawn here, not from the
seeds of any environment. All depends on --seed alone, on every machine.
"""
import argparse
import json
import pathlib
import random


def sum_of(rng, greatest):
    return "".join(f" {rng.choice('+-*')} {rng.randint(1, greatest)}" if i else str(rng.randint(1, greatest)) for i in range(3))


def row(rng, number, greatest, calls):
    said = sum_of(rng, greatest)
    right = eval(said)
    messages = [{"role": "user", "content": f"What is {said}?"}]
    if rng.random() < calls:
        messages.append({"role": "assistant", "content": "python" + json.dumps({"code": f"print({said})"})})
        messages.append({"role": "tool", "content": f"{right}\n"})
    else:
        right += rng.choice([-1, 1]) * rng.randint(1, 20)
    return {"id": str(number), "messages": messages + [{"role": "assistant", "content": f"={right}"}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the file")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--rows", type=int, default=20000, help="(default %(default)s)")
    parser.add_argument("--greatest", type=int, default=9, help="number in a sum (default %(default)s)")
    parser.add_argument("--calls", type=float, default=0.4, help="share of rows that run a program (default %(default)s)")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    with open(args.out / "sft.jsonl", "w") as out:
        for number in range(args.rows):
            out.write(json.dumps(row(rng, number, args.greatest, args.calls)) + "\n")


if __name__ == "__main__":
    main()
