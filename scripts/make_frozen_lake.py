#!/usr/bin/env python3
"""Writes sft.jsonl: moves on frozen lakes, turn by turn, for the warm-up of configs/frozen_lake_cpu.yaml.

All moves lead to the goal: a tiny model learns nothing of a map from moves that are mostly blind. The lakes are drawn here,
not from the seeds of any environment. All depends on --seed alone, on every machine.
"""
import argparse
import json
import pathlib
import random

MOVES = {"L": (0, -1), "D": (1, 0), "R": (0, 1), "U": (-1, 0)}


def behind(at, move, size):
    row, column = at[0] + MOVES[move][0], at[1] + MOVES[move][1]
    return (row, column) if 0 <= row < size and 0 <= column < size else at


def distances(cells, goal, size):
    """Steps to the goal of all cells from which there is a way."""
    found, frontier = {goal: 0}, [goal]
    for at in frontier:
        for move in MOVES:
            next_ = behind(at, move, size)
            if next_ not in found and cells[next_] != "O":
                found[next_] = found[at] + 1
                frontier.append(next_)
    return found


def lake(rng, size, share):
    while True:
        cells = {(r, c): "_" if rng.random() < share else "O" for r in range(size) for c in range(size)}
        start, goal = rng.sample(sorted(cells), 2)
        cells[start], cells[goal] = "_", "G"
        steps = distances(cells, goal, size)
        if start in steps:
            return cells, start, steps


def text(cells, at, size):
    return "\n".join("".join("P" if (r, c) == at else cells[r, c] for c in range(size)) for r in range(size))


def rows(rng, number, size, share, max_turns):
    cells, at, steps = lake(rng, size, share)
    messages = [{"role": "user", "content": text(cells, at, size)}]
    for turn in range(max_turns):
        move = rng.choice([move for move in MOVES if steps.get(behind(at, move, size), 99) < steps[at]])
        yield {"id": f"{number}-{turn}", "messages": list(messages), "response": move}
        at = behind(at, move, size)
        if cells[at] != "_":
            return
        messages += [{"role": "assistant", "content": move}, {"role": "user", "content": text(cells, at, size)}]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the file")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--lakes", type=int, default=3000, help="(default %(default)s)")
    parser.add_argument("--size", type=int, default=4, help="cells of a side (default %(default)s)")
    parser.add_argument("--share", type=float, default=0.8, help="of cells that are no hole (default %(default)s)")
    parser.add_argument("--turns", type=int, default=8, help="at most (default %(default)s)")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    with open(args.out / "sft.jsonl", "w") as out:
        for number in range(args.lakes):
            for row in rows(rng, number, args.size, args.share, args.turns):
                out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
