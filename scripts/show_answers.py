#!/usr/bin/env python3
"""Compares the first and the last validation of a run: share of right answers and lengths of each kind of rows (tag), and answers
to the same prompts side by side.

    show_answers.py RUN/rollouts [--answers 2]
"""
import argparse
import json
import pathlib
import textwrap


def read(path):
    return {(row["prompt_id"], row["sample_index"]): row for row in map(json.loads, path.read_text().splitlines())}


def mean(values):
    return sum(values) / max(1, len(values))


def line(name, before, after):
    shares = [mean([row["score"] >= 1 for row in rows]) for rows in (before, after)]
    lengths = [mean([len(row["response_ids"]) for row in rows]) for rows in (before, after)]
    return f"{name:28} {shares[0]:6.2f} -> {shares[1]:.2f} {lengths[0]:8.0f} -> {lengths[1]:.0f} tokens"


def question(prompt):
    """The last line that is not the chat template's alone."""
    lines = [line for line in prompt.splitlines() if not line.startswith("<|")]
    return lines[-1].removesuffix("<|im_end|>") if lines else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rollouts", type=pathlib.Path)
    parser.add_argument("--answers", type=int, default=2, help="number of prompts whose answers are shown (default %(default)s)")
    arguments = parser.parse_args()
    files = sorted(arguments.rollouts.glob("val_*.jsonl"))
    if len(files) < 2:
        parser.error(f"{arguments.rollouts}: holds fewer than two validations (val_*.jsonl)")
    before, after = read(files[0]), read(files[-1])
    shared = [key for key in before if key in after]
    for tag in sorted({before[key]["tag"] for key in shared}):
        keys = [key for key in shared if before[key]["tag"] == tag]
        print(line(tag, [before[key] for key in keys], [after[key] for key in keys]))
    print(line("all", [before[key] for key in shared], [after[key] for key in shared]))
    learnt = [key for key in shared if before[key]["score"] < 1 <= after[key]["score"]]
    for key in learnt[:: max(1, len(learnt) // max(1, arguments.answers))][: arguments.answers]:
        print(f"\nprompt  {question(before[key]['prompt'])}")
        for name, row in (("before", before[key]), ("after", after[key])):
            print(textwrap.indent(textwrap.fill(row["response"].strip(), 100, replace_whitespace=False), f"{name:7} "))


if __name__ == "__main__":
    main()
