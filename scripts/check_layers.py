#!/usr/bin/env python3
"""Fails on an include in lib/, cuda/ or app/ that points upward or sideways; the order is the numbered list in lib/README.md."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
level = {}
for number, folders in re.findall(r"^(\d+)\. (.*(?:\n   .*)*)$", (root / "lib/README.md").read_text(), re.M):
    for folder in re.findall(r"`([a-z]+)`", folders):
        level[folder] = int(number)

folders = {p.name: p for p in [*(root / "lib").iterdir(), root / "cuda", root / "app"] if p.is_dir()}
wrong = [f"{name}: not in the list of lib/README.md" for name in sorted(folders.keys() - level.keys())]
wrong += [f"lib/README.md lists {name}, which is not there" for name in sorted(level.keys() - folders.keys())]
for own, folder in sorted(folders.items()):
    for file in sorted(folder.rglob("*.[hc]*")):
        for line, text in enumerate(file.read_text().splitlines(), 1):
            found = re.match(r'#include "([a-z]+)/', text)
            if found and found[1] in level and found[1] != own and own in level and level[found[1]] >= level[own]:
                wrong.append(f"{file.relative_to(root)}:{line}: {own} ({level[own]}) includes {found[1]} ({level[found[1]]})")
print("\n".join(wrong) or f"layers: {len(level)} folders, every include points down")
sys.exit(bool(wrong))
