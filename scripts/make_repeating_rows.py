#!/usr/bin/env python3
"""Writes train.jsonl and test.jsonl: chats whose answers repeat text, for scripts/bench_speculation.sh. Three kinds: a function
with a variable renamed, a sum calculated step by step, and a tool call for each item of a list. All depends on --seed alone."""
import argparse
import json
import pathlib
import random

NAMES = "total count value result item index price length width score weight start limit ratio depth level".split()
CITIES = "Paris London Rome Madrid Berlin Vienna Prague Warsaw Lisbon Dublin Athens Oslo Helsinki Zurich Munich Turin".split()
UNITS = ["celsius", "fahrenheit"]


def edit(rng):
    function, a, b, c, new = rng.sample(NAMES, 5)
    code = (f"def {function}({a}, {b}):\n    {c} = {a} + {b} * {rng.randint(2, 99)}\n    for {b} in range({a}):\n"
            f"        if {c} > {rng.randint(100, 999)}:\n            {c} = {c} - {a}\n        else:\n"
            f"            {c} = {c} + {b}\n    print({a}, {b}, {c})\n    return {c}\n")
    return f"Rename the variable {c} to {new}.\n\n{code}", code.replace(c, new)


def chain(rng):
    numbers = [rng.randint(2, 99) for _ in range(8)]
    lines, so_far = [], numbers[0]
    for number in numbers[1:]:
        lines.append(f"The sum so far is {so_far}. The next number in the list is {number}. I add it: {so_far} + {number} = {so_far + number}.")
        so_far += number
    return f"Add these numbers step by step: {', '.join(map(str, numbers))}", "\n".join(lines) + f"\nThe sum is {so_far}."


def calls(rng):
    cities, unit = rng.sample(CITIES, 5), rng.choice(UNITS)
    text = "\n".join(json.dumps({"name": "get_weather", "arguments": {"city": city, "unit": unit}}) for city in cities)
    return f"Call get_weather in {unit} for each city: {', '.join(cities)}", text


def row(rng, number):
    kind = (edit, chain, calls)[number % 3]
    question, answer = kind(rng)
    return {"id": str(number), "tag": kind.__name__,
            "messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the files")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--rows", type=int, default=480, help="of train.jsonl (default %(default)s)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train", args.rows, args.seed), ("test", 12, args.seed + 1)):
        rng = random.Random(seed)
        with open(args.out / f"{name}.jsonl", "w") as out:
            for number in range(count):
                made = row(rng, number)
                if name == "test":
                    made["messages"].pop()
                out.write(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
