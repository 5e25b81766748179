#!/usr/bin/env python3
"""Writes the quickstart's rows (ROLL's JSON-lines columns): sums and differences of a two-digit and a one-digit number.

train.jsonl    problems to train on by reinforcement
heldout.jsonl  other problems, for the validation
sft.jsonl      some of the training problems with a response; a share of the responses is wrong

The wrong responses make one mistake, again and again: a forgotten carry or borrow, and a carry or borrow where there is
none. A model warmed up on them knows both ways to calculate and mostly takes the wrong one: what is left to learn from
rewards is which. The split and the mistakes depend on --seed alone, on every machine.
"""
import argparse
import hashlib
import json
import pathlib


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the three files")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--heldout", type=int, default=200, help="held-out problems (default %(default)s)")
    parser.add_argument("--sft-rows", type=int, default=800, help="rows of sft.jsonl (default %(default)s)")
    parser.add_argument("--wrong", type=float, default=0.65, help="share of wrong responses in it (default %(default)s)")
    parser.add_argument("--operators", default="+-", help="(default %(default)s)")
    return parser.parse_args()


def draw(*name):
    """A number in [0, 1) that is a pure function of its name."""
    return int.from_bytes(hashlib.sha256(repr(name).encode()).digest()[:6], "big") / 2**48


def problems(operators, seed):
    """All (a, operator, b), in an order that the seed decides."""
    every = [(a, operator, b) for a in range(10, 100) for operator in operators for b in range(10)]
    return sorted(every, key=lambda problem: draw(seed, "order", problem))


def answer(a, operator, b):
    return a + b if operator == "+" else a - b


def mistaken(a, operator, b):
    """The answer of somebody who forgets the carry or borrow, and makes one where there is none."""
    right = answer(a, operator, b)
    ten = 10 if operator == "+" else -10
    return right - ten if right // 10 != a // 10 else right + ten


def row(number, problem, split):
    a, operator, b = problem
    text = f"{a}{operator}{b}="
    return {
        "id": f"{split}-{number}",
        "domain": "math_rule",
        "source": "arithmetic",
        "difficulty": 0.0,
        "prompt": text,
        "messages": json.dumps([{"role": "user", "content": text}]),
        "ground_truth": str(answer(*problem)),
        "case_type": "",
        "test_case_function": "",
        "test_cases": "",
        "tag": "arithmetic",
    }


def sft_row(number, problem, arguments):
    wrong = draw(arguments.seed, "wrong", problem) < arguments.wrong
    said = mistaken(*problem) if wrong else answer(*problem)
    return row(number, problem, "sft") | {"response": f"\\boxed{{{said}}}"}


def write(path, rows):
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    print(f"{path}: {len(rows)} rows")


def main():
    arguments = parse_arguments()
    shuffled = problems(arguments.operators, arguments.seed)
    heldout, train = shuffled[: arguments.heldout], shuffled[arguments.heldout :]
    arguments.out.mkdir(parents=True, exist_ok=True)
    write(arguments.out / "train.jsonl", [row(i, p, "train") for i, p in enumerate(train)])
    write(arguments.out / "heldout.jsonl", [row(i, p, "heldout") for i, p in enumerate(heldout)])
    write(arguments.out / "sft.jsonl", [sft_row(i, p, arguments) for i, p in enumerate(train[: arguments.sft_rows])])


if __name__ == "__main__":
    main()
