#!/usr/bin/env python3
"""Writes multiple-choice rows (ROLL's JSON-lines columns, reward types crossthinkqa and multiple_choice): which of four
numbers is the largest, or the smallest?

train.jsonl    questions to train on by reinforcement
heldout.jsonl  other questions, for the validation
sft.jsonl      some of the training questions, each several times with a response, of which one is right

Those that are not right are guesses, "A" outside of a box. All depends on --seed alone, on every machine.
"""
import argparse
import hashlib
import pathlib

import data_rows

LETTERS = "ABCD"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the three files")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--train", type=int, default=2000, help="training questions (default %(default)s)")
    parser.add_argument("--heldout", type=int, default=200, help="held-out questions (default %(default)s)")
    parser.add_argument("--sft", type=int, default=300, help="questions of sft.jsonl (default %(default)s)")
    parser.add_argument("--guesses", type=int, default=2, help="guesses beside each right response (default %(default)s)")
    return parser.parse_args()


def digits(seed, number):
    """Endless bytes that the seed and a number decide, on every machine."""
    block = 0
    while True:
        yield from hashlib.sha256(f"{seed} {number} {block}".encode()).digest()
        block += 1


def questions(seed, count):
    """Different questions, each (word, four different numbers)."""
    found, number = {}, 0
    while len(found) < count:
        source = digits(seed, number)
        number += 1
        word, numbers = ("largest", "smallest")[next(source) % 2], []
        while len(numbers) < len(LETTERS):
            if (candidate := next(source) % 100) not in numbers:
                numbers.append(candidate)
        found[word, tuple(numbers)] = None
    return list(found)


def right_letter(question):
    word, numbers = question
    return LETTERS[numbers.index((max if word == "largest" else min)(numbers))]


def row(number, question, split):
    word, numbers = question
    text = f"Which is the {word}?\n" + "\n".join(f"{letter}. {n}" for letter, n in zip(LETTERS, numbers))
    return data_rows.row(f"{split}-{number}", "multiple_choice", text, right_letter(question), "crossthinkqa")


def sft_rows(number, question, num_guesses):
    responses = [f"\\boxed{{{right_letter(question)}}}"] + num_guesses * ["A"]
    return [row(f"{number}-{i}", question, "sft") | {"response": response} for i, response in enumerate(responses)]


def main():
    arguments = parse_arguments()
    every = questions(arguments.seed, arguments.heldout + arguments.train)
    heldout, train = every[: arguments.heldout], every[arguments.heldout :]
    arguments.out.mkdir(parents=True, exist_ok=True)
    data_rows.write(arguments.out / "train.jsonl", [row(i, q, "train") for i, q in enumerate(train)])
    data_rows.write(arguments.out / "heldout.jsonl", [row(i, q, "heldout") for i, q in enumerate(heldout)])
    data_rows.write(arguments.out / "sft.jsonl", [line for i, q in enumerate(train[: arguments.sft]) for line in sft_rows(i, q, arguments.guesses)])


if __name__ == "__main__":
    main()
