#!/usr/bin/env bash
# FrozenLake from nothing: makes rows of moves and a tiny model, warms it up, then trains it in the environment. Needs
# build/roll (scripts/build.sh), or the program that ROLL names. Arguments: overrides of configs/frozen_lake_cpu.yaml, as
# max_steps=30.
exec "$(dirname "$0")/train_from_nothing.sh" frozen_lake "make_frozen_lake.py --size 3 --turns 4" "$@"
