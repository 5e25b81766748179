#!/usr/bin/env python3
"""Fails on an include in lib/ that points upward or sideways; the order is the numbered list in lib/README.md."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
level = {}
for number, folders in re.findall(r"^(\d+)\. (.*(?:\n   .*)*)$", (root / "lib/README.md").read_text(), re.M):
    for folder in re.findall(r"`([a-z]+)`", folders):
        level[folder] = int(number)

wrong = [f"lib/{p.name}: not in the list of lib/README.md" for p in (root / "lib").iterdir() if p.is_dir() and p.name not in level]
for file in sorted((root / "lib").rglob("*.[hc]*")):
    own = file.relative_to(root / "lib").parts[0]
    for line, text in enumerate(file.read_text().splitlines(), 1):
        found = re.match(r'#include "([a-z]+)/', text)
        if found and found[1] in level and found[1] != own and own in level and level[found[1]] >= level[own]:
            wrong.append(f"{file.relative_to(root)}:{line}: {own} ({level[own]}) includes {found[1]} ({level[found[1]]})")
print("\n".join(wrong) or f"layers: {len(level)} folders, every include points down")
sys.exit(bool(wrong))
