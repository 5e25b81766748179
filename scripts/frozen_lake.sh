#!/usr/bin/env bash
# FrozenLake from nothing: makes rows of moves and a tiny model, warms it up, then trains it in the environment. Needs
# build/roll (scripts/build.sh), or the program that ROLL names. Arguments: overrides of configs/frozen_lake_cpu.yaml, as
# max_steps=30.
set -euo pipefail
cd "$(dirname "$0")/.."
roll=${ROLL:-build/roll}
here=output/frozen_lake

python3 scripts/make_frozen_lake.py --out $here/data --size 3 --turns 4
# The warm-up depends on these alone: a second run with the same ones starts where it ended.
warm_up=$(cat "$roll" scripts/frozen_lake.sh configs/frozen_lake_sft.yaml $here/data/sft.jsonl | sha256sum)
if [[ ! -e $here/warm_up || $(< $here/warm_up) != "$warm_up" ]]; then
  rm -rf $here/{model,sft,warm_up}
  $roll init-model --arch qwen2 --hidden 128 --intermediate 512 --layers 4 --heads 4 --kv-heads 2 \
    --tokenizer builtin --seed 42 --out $here/model
  $roll sft --config configs/frozen_lake_sft.yaml
  echo "$warm_up" > $here/warm_up
fi
$roll train --config configs/frozen_lake_cpu.yaml --new-run "$@"
