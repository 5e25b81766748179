#!/usr/bin/env bash
# From a bare machine to a policy that reinforcement has taught: installs, builds, makes rows and a tiny model, warms the
# model up on noisy answers, then trains it by PPO and shows its held-out accuracy before and after. Downloads packages
# only. Arguments: cmake's -D options, e.g. -DROLL_WITH_CUDA=OFF.
set -euo pipefail
cd "$(dirname "$0")/.."
started=$SECONDS
step() { printf '\n== %s (%d s)\n' "$*" $(( SECONDS - started )); }

step "set-up"
scripts/setup.sh "$@"
step "build"
scripts/build.sh "$@" roll
roll=build/roll
here=output/quickstart

step "arithmetic rows"
python3 scripts/make_arithmetic.py --out $here/data

# The warm-up depends on these alone: a second run with the same ones starts where it ended.
warm_up=$(cat "$roll" scripts/quickstart.sh configs/quickstart_sft.yaml $here/data/sft.jsonl | sha256sum)
if [[ ! -e $here/warm_up || $(< $here/warm_up) != "$warm_up" ]]; then
  step "a tiny model with its own tokenizer"
  rm -rf $here/model $here/sft $here/warm_up
  $roll init-model --arch qwen2 --hidden 128 --intermediate 512 --layers 4 --heads 4 --kv-heads 2 \
    --tokenizer builtin --seed 42 --out $here/model
  step "warm-up on noisy answers"
  $roll sft --config configs/quickstart_sft.yaml
  echo "$warm_up" > $here/warm_up
else
  step "warm-up: the one in $here/sft still holds"
fi

step "PPO"
$roll train --config configs/quickstart.yaml
step "done"
