#!/usr/bin/env python3
"""Writes sft.jsonl: moves in rooms with one box, turn by turn, for the warm-up of configs/sokoban_cpu.yaml.

All moves are of shortest ways to have the box on its target. The rooms are drawn here, as lib/environment/sokoban.cpp
draws its own, from other random numbers. All depends on --seed alone, on every machine.
"""
import argparse
import json
import pathlib
import random

WALL_SHARE = 0.15


def pushed(cells, at, by):
    """Where the player and the box are after a move."""
    player, box = at[0] + by, at[1]
    if player == box:
        box += by
    return at if player in cells["walls"] or box in cells["walls"] else (player, box)


def distances(cells, moves):
    """Moves until the box is on the target, of all places of player and box from which there is a way."""
    inside = [at for at in range(cells["size"] ** 2) if at not in cells["walls"]]
    before = {}
    for at in ((player, box) for player in inside for box in inside if player != box):
        for by in moves.values():
            before.setdefault(pushed(cells, at, by), []).append(at)
    found = {(player, cells["target"]): 0 for player in inside if player != cells["target"]}
    frontier = list(found)
    for at in frontier:
        for earlier in before.get(at, []):
            if earlier not in found:
                found[earlier] = found[at] + 1
                frontier.append(earlier)
    return found


def room(rng, size, depth, moves):
    """Walls and the box on its target, from which the player pulls it away."""
    while True:
        edge = {at for at in range(size * size) if at // size in (0, size - 1) or at % size in (0, size - 1)}
        inside = [at for at in range(size * size) if at not in edge]
        walls = edge | {at for at in inside if rng.random() < WALL_SHARE}
        floor = [at for at in inside if at not in walls]
        if len(floor) < 3:
            continue
        target, player = rng.sample(floor, 2)
        box = target
        for _ in range(depth):
            by = rng.choice(list(moves.values()))
            behind = player - by
            if behind not in walls and behind != box:
                box = player if player + by == box else box
                player = behind
        if box != target:
            return dict(size=size, walls=walls, target=target), (player, box)


def text(cells, at):
    def symbol(cell):
        if cell in cells["walls"]:
            return "#"
        if cell == at[0]:
            return "S" if cell == cells["target"] else "P"
        if cell == at[1]:
            return "*" if cell == cells["target"] else "X"
        return "O" if cell == cells["target"] else "_"

    size = cells["size"]
    return "\n".join("".join(symbol(row * size + column) for column in range(size)) for row in range(size))


def row(rng, number, args):
    moves = dict(U=-args.size, D=args.size, L=-1, R=1)
    cells, at = room(rng, args.size, args.depth, moves)
    left = distances(cells, moves)
    messages = []
    while left[at] and len(messages) < 2 * args.turns:
        move = rng.choice([move for move, by in moves.items() if left.get(pushed(cells, at, by), 99) < left[at]])
        messages += [{"role": "user", "content": text(cells, at)}, {"role": "assistant", "content": move}]
        at = pushed(cells, at, moves[move])
    return {"id": str(number), "messages": messages}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the file")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--rooms", type=int, default=2400, help="(default %(default)s)")
    parser.add_argument("--size", type=int, default=6, help="cells of a side, walls included (default %(default)s)")
    parser.add_argument("--depth", type=int, default=6, help="moves backwards from the end (default %(default)s)")
    parser.add_argument("--turns", type=int, default=6, help="at most (default %(default)s)")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    with open(args.out / "sft.jsonl", "w") as out:
        for number in range(args.rooms):
            out.write(json.dumps(row(rng, number, args)) + "\n")


if __name__ == "__main__":
    main()
