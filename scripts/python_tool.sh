#!/usr/bin/env bash
# A tool from nothing: makes rows of sums and a tiny model, warms it up, then trains it to run Python instead of guessing.
# Needs build/roll (scripts/build.sh), or the program that ROLL names, and a machine that can isolate programs (roll
# doctor). Arguments: overrides of configs/python_tool_cpu.yaml, as max_steps=10.
exec "$(dirname "$0")/train_from_nothing.sh" python_tool make_tool_rows.py "$@"
