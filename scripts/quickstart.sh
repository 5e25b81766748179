#!/usr/bin/env bash
# From a bare machine to a policy that reinforcement has taught: installs, builds, makes rows and a tiny model, warms the
# model up on noisy answers, then trains it by PPO and shows its held-out accuracy before and after. Downloads packages
# only. Arguments: --dtype fp32|bf16 (fp32), the numbers of training and sampling; cmake's -D options, e.g.
# -DROLL_WITH_CUDA=OFF.
set -euo pipefail
cd "$(dirname "$0")/.."
dtype=fp32
if [[ ${1:-} == --dtype ]]; then
  [[ ${2:-} == fp32 || ${2:-} == bf16 ]] || { echo "quickstart: --dtype must be fp32 or bf16" >&2; exit 2; }
  dtype=$2
  shift 2
fi
step_number=0
step() { printf '\n== step %d of 6: %s (%d s so far)\n' $(( ++step_number )) "$*" $SECONDS; }
echo "quickstart: set-up (packages and LibTorch), build, rows, a tiny model, its warm-up, PPO. The first two take minutes the"
echo "first time: up to 15 on 2 cores; the others 2 together."
if [[ $dtype == fp32 ]] && grep -qw amx_bf16 /proc/cpuinfo 2>/dev/null; then
  echo "quickstart: this CPU multiplies bfloat16 (AMX): --dtype bf16 trains and samples in it."
fi

step "set-up"
scripts/setup.sh "$@"
step "build"
scripts/build.sh "$@" roll
roll=build/roll
here=output/quickstart

step "arithmetic rows"
python3 scripts/make_arithmetic.py --out $here/data

# The warm-up depends on these alone: a second run with the same ones starts where it ended.
warm_up=$(echo $dtype; cat "$roll" scripts/quickstart.sh configs/quickstart_sft.yaml $here/data/sft.jsonl | sha256sum)
if [[ ! -e $here/warm_up || $(< $here/warm_up) != "$warm_up" ]]; then
  step "a tiny model with its own tokenizer"
  rm -rf $here/model $here/sft $here/warm_up
  $roll init-model --arch qwen2 --hidden 128 --intermediate 512 --layers 4 --heads 4 --kv-heads 2 \
    --tokenizer builtin --seed 42 --out $here/model
  step "warm-up on noisy answers"
  $roll sft --config configs/quickstart_sft.yaml sft_train.model_args.dtype=$dtype
  echo "$warm_up" > $here/warm_up
else
  step_number=4
  step "warm-up: the one in $here/sft still holds"
fi

step "PPO"
$roll train --config configs/quickstart.yaml actor_train.model_args.dtype=$dtype \
  reference.model_args.dtype=$dtype critic.model_args.dtype=$dtype
printf '\nquickstart: done in %d s\n' $SECONDS
