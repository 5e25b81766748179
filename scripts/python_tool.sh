#!/usr/bin/env bash
# A tool from nothing: makes rows of sums and a tiny model, warms it up, then trains it to run Python instead of guessing.
# Needs build/roll (scripts/build.sh), or the program that ROLL names, and a machine that can isolate programs (roll
# doctor). Arguments: overrides of configs/python_tool_cpu.yaml, as max_steps=10.
set -euo pipefail
cd "$(dirname "$0")/.."
roll=${ROLL:-build/roll}
here=output/python_tool

python3 scripts/make_tool_rows.py --out $here/data
# The warm-up depends on these alone: a second run with the same ones starts where it ended.
warm_up=$(cat "$roll" scripts/python_tool.sh configs/python_tool_sft.yaml $here/data/sft.jsonl | sha256sum)
if [[ ! -e $here/warm_up || $(< $here/warm_up) != "$warm_up" ]]; then
  rm -rf $here/{model,sft,warm_up}
  $roll init-model --arch qwen2 --hidden 128 --intermediate 512 --layers 4 --heads 4 --kv-heads 2 \
    --tokenizer builtin --seed 42 --out $here/model
  $roll sft --config configs/python_tool_sft.yaml
  echo "$warm_up" > $here/warm_up
fi
$roll train --config configs/python_tool_cpu.yaml --new-run "$@"
