#!/usr/bin/env python3
"""Writes the quickstart's rows (ROLL's JSON-lines columns): sums of a two-digit and a one-digit number.

train.jsonl    problems to train on by reinforcement
heldout.jsonl  other problems, for the validation
sft.jsonl      some of the training problems, each several times with a response, of which one is calculated

Those that are not right are estimates, "~\\boxed{70}" for 67: the sum rounded to tens, right for one sum in ten. A model
warmed up on them can calculate and can estimate, and mostly estimates; what is left to learn from rewards is to calculate.
All depends on --seed alone, on every machine.
"""
import argparse
import hashlib
import pathlib

import data_rows


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the three files")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--heldout", type=int, default=200, help="held-out problems (default %(default)s)")
    parser.add_argument("--sft", type=int, default=300, help="problems of sft.jsonl (default %(default)s)")
    parser.add_argument("--estimates", type=int, default=2, help="estimates beside each right response (default %(default)s)")
    return parser.parse_args()


def problems(seed):
    """All (a, b), in an order that the seed decides, on every machine."""
    every = [(a, b) for a in range(10, 100) for b in range(10)]
    return sorted(every, key=lambda problem: hashlib.sha256(f"{seed} {problem}".encode()).digest())


def row(number, problem, split):
    text = f"{problem[0]}+{problem[1]}="
    return data_rows.row(f"{split}-{number}", "arithmetic", text, str(sum(problem)), "arithmetic", "math_rule")


def sft_rows(number, problem, num_estimates):
    right = sum(problem)
    responses = [f"\\boxed{{{right}}}"] + num_estimates * [f"~\\boxed{{{(right + 5) // 10 * 10}}}"]
    return [row(f"{number}-{i}", problem, "sft") | {"response": response} for i, response in enumerate(responses)]


def main():
    arguments = parse_arguments()
    shuffled = problems(arguments.seed)
    heldout, train = shuffled[: arguments.heldout], shuffled[arguments.heldout :]
    sft = [r for i, problem in enumerate(train[: arguments.sft]) for r in sft_rows(i, problem, arguments.estimates)]
    arguments.out.mkdir(parents=True, exist_ok=True)
    data_rows.write(arguments.out / "train.jsonl", [row(i, p, "train") for i, p in enumerate(train)])
    data_rows.write(arguments.out / "heldout.jsonl", [row(i, p, "heldout") for i, p in enumerate(heldout)])
    data_rows.write(arguments.out / "sft.jsonl", sft)


if __name__ == "__main__":
    main()
