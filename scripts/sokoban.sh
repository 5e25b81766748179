#!/usr/bin/env bash
# Sokoban from nothing: makes rows of moves and a tiny model, warms it up, then trains it in the environment. Needs
# build/roll (scripts/build.sh), or the program that ROLL names. Arguments: overrides of configs/sokoban_cpu.yaml, as
# max_steps=30.
ARCH=qwen3 exec "$(dirname "$0")/train_from_nothing.sh" sokoban make_sokoban.py "$@"
