#!/usr/bin/env bash
# A recipe of several turns from nothing: rows, a tiny model, its warm-up (configs/NAME_sft.yaml), then training
# (configs/NAME_cpu.yaml). Needs build/roll (scripts/build.sh), or the program that ROLL names.
#
#   train_from_nothing.sh NAME "MAKER ARGUMENTS..." [overrides of configs/NAME_cpu.yaml, as max_steps=30]
#
# MAKER: a script beside this one, which writes sft.jsonl into the folder behind --out. ARCH: of the model (qwen2).
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1
read -ra maker <<< "$2"
shift 2
roll=${ROLL:-build/roll}
here=output/$name
arch=${ARCH:-qwen2}

python3 "scripts/${maker[0]}" --out "$here/data" "${maker[@]:1}"
# The warm-up depends on these alone: a second run with the same ones starts where it ended.
warm_up=$arch$(cat "$roll" scripts/train_from_nothing.sh "configs/${name}_sft.yaml" "$here/data/sft.jsonl" | sha256sum)
if [[ ! -e $here/warm_up || $(< "$here/warm_up") != "$warm_up" ]]; then
  rm -rf "$here"/{model,sft,warm_up}
  $roll init-model --arch "$arch" --hidden 128 --intermediate 512 --layers 4 --heads 4 --kv-heads 2 \
    --tokenizer builtin --seed 42 --out "$here/model"
  $roll sft --config "configs/${name}_sft.yaml"
  echo "$warm_up" > "$here/warm_up"
fi
$roll train --config "configs/${name}_cpu.yaml" --new-run "$@"
