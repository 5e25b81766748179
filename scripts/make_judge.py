#!/usr/bin/env python3
"""Writes rows for a judge (ROLL's JSON-lines columns): questions with free answers, each with a reference.

train.jsonl  problems to train on; heldout.jsonl  other problems, for the validation

Every question has one right content and many wordings, so a rule that compares texts would be wrong and a judge is right: which of
two people is older, what follows from what, how to say a time, what a list has in common. All depends on --seed alone, on every machine.
"""
import argparse
import hashlib
import pathlib

import data_rows

NAMES = "Ada Ben Clara David Emma Felix Grace Henry Iris Jonas Klara Leo Mia Noah Olga Paul".split()
KINDS = {
    "fruits": "apples pears plums cherries figs".split(),
    "gems": "rubies opals emeralds diamonds pearls".split(),
    "birds": "sparrows owls herons swans crows".split(),
    "tools": "hammers saws pliers chisels files".split(),
}
NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()


class Draw:
    """Numbers by name: the same on every machine."""

    def __init__(self, *name):
        self.name, self.count = " ".join(map(str, name)), 0

    def below(self, n):
        self.count += 1
        return int.from_bytes(hashlib.sha256(f"{self.name} {self.count}".encode()).digest()[:8], "big") % n

    def some(self, items, count):
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(count)]


def older(draw):
    a, b, c = draw.some(NAMES, 3)
    first, second = draw.below(20) + 1, draw.below(20) + 1
    return (f"{a} is {first} years older than {b}. {c} is {second} years younger than {b}. Who is the oldest of the three, who the youngest, and by how many years?",
            f"{a} is the oldest and {c} the youngest; they are {first + second} years apart.")


def follows(draw):
    (kind, members), name = draw.some(KINDS.items(), 1)[0], draw.some(NAMES, 1)[0]
    thing = draw.some(members, 1)[0]
    if draw.below(2):
        return (f"{name} likes all {kind}. Does it follow that {name} likes {thing}? Say why.", f"Yes: {thing} are {kind}, and {name} likes all of them.")
    return (f"{name} likes {thing}. Does it follow that {name} likes all {kind}? Say why.",
            f"No: {thing} are only one kind of {kind}, and liking one says nothing of the others.")


def clock(draw):
    hour, minutes = draw.below(12) + 1, 5 * (draw.below(11) + 1)
    later = draw.below(5) + 1
    end = (hour - 1 + later) % 12 + 1
    return (f"It is {minutes} minutes past {NUMBERS[hour - 1]}. A meeting begins in {NUMBERS[later - 1]} hour{'s' if later > 1 else ''}. "
            "Write in one sentence when it begins.", f"It begins at {minutes} minutes past {NUMBERS[end - 1]}.")


def common(draw):
    (kind, members), (_, others) = draw.some(KINDS.items(), 2)
    shown, odd = draw.some(members, 3), draw.some(others, 1)[0]
    listed = draw.some([*shown, odd], 4)
    return (f"Which of these does not belong with the others, and why: {', '.join(listed)}?", f"{odd.capitalize()}: the others are {kind}.")


def row(number, question, reference, split):
    return data_rows.row(f"{split}-{number}", "generated", question, reference, "RLVR", "llm_judge")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the two files")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--train", type=int, default=800, help="rows of train.jsonl (default %(default)s)")
    parser.add_argument("--heldout", type=int, default=100, help="rows of heldout.jsonl (default %(default)s)")
    arguments = parser.parse_args()
    makers, problems, number = (older, follows, clock, common), {}, 0
    while len(problems) < arguments.train + arguments.heldout:
        problems.setdefault(*makers[number % len(makers)](Draw(arguments.seed, number)))
        number += 1
        if number > 100 * (arguments.train + arguments.heldout + 1):
            parser.error(f"there are only {len(problems)} different questions; ask for fewer")
    rows = list(problems.items())
    arguments.out.mkdir(parents=True, exist_ok=True)
    for split, part in (("train", rows[: arguments.train]), ("heldout", rows[arguments.train :])):
        data_rows.write(arguments.out / f"{split}.jsonl", [row(i, question, reference, split) for i, (question, reference) in enumerate(part)])


if __name__ == "__main__":
    main()
