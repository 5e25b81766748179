#!/usr/bin/env bash
# What `roll quickstart` does: makes rows and a tiny model, warms the model up on noisy answers, then trains it by PPO and
# shows its held-out accuracy before and after. All of it lands in ./output/quickstart.
#
#   quickstart_training.sh PROGRAM [overrides of configs/quickstart.yaml, as max_steps=3] [--resume | --new-run]
set -euo pipefail
roll=$1
shift
own=$(cd "$(dirname "$0")/.." && pwd)  # the checkout, or share/roll of an installation: both have configs/ and scripts/
here=output/quickstart
step_number=0
step() { printf '\n== step %d of 4: %s (%d s so far)\n' $(( ++step_number )) "$*" $SECONDS; }
# What is run, as it would be typed, without what a terminal would take for commands.
show() (
  LC_ALL=C
  line=${*//"$PWD/"/}
  printf '$ roll %s\n' "${line//[^ -~]/?}"
)
run() { show "$@"; "$roll" "$@"; }

dtype=fp32
for override in "$@"; do  # the warm-up's numbers are those of the training
  [[ $override != actor_train.model_args.dtype=* ]] || dtype=${override#*=}
done

step "arithmetic rows"
python3 "$own/scripts/make_arithmetic.py" --out $here/data

# The warm-up depends on these alone: a second run with the same ones starts where it ended.
warm_up=$(echo "$dtype"; cat "$roll" "$0" "$own/configs/quickstart_sft.yaml" $here/data/sft.jsonl | sha256sum)
if [[ ! -e $here/warm_up || $(< $here/warm_up) != "$warm_up" ]]; then
  again=()
  if [[ -e $here/warm_up_begun && $(< $here/warm_up_begun) == "$warm_up" ]]; then
    step_number=2
    step "warm-up on noisy answers, which was interrupted"
    [[ ! -e $here/sft/checkpoints ]] || again=(--resume)
  else
    step "a tiny model with its own tokenizer"
    rm -rf $here/model $here/sft $here/warm_up
    run init-model --arch qwen2 --hidden 128 --intermediate 512 --layers 4 --heads 4 --kv-heads 2 \
      --tokenizer builtin --seed 42 --out $here/model
    echo "$warm_up" > $here/warm_up_begun
    step "warm-up on noisy answers"
  fi
  run sft --config "$own/configs/quickstart_sft.yaml" "sft_train.model_args.dtype=$dtype" "${again[@]}"
  echo "$warm_up" > $here/warm_up
else
  step_number=2
  step "warm-up: the one in $here/sft still holds"
fi

step "PPO"
words=("$@")
if [[ ! -e $here/train ]]; then  # the warm-up was interrupted: there is no training to go on with
  words=()
  for word in "$@"; do [[ $word == --resume ]] || words+=("$word"); done
fi
run train --config "$own/configs/quickstart.yaml" "${words[@]}"

run_folder=$here/train
for override in "$@"; do
  [[ $override != output_dir=* ]] || run_folder=${override#*=}
  [[ $override != --new-run ]] || run_folder+=/latest
done
echo
run report "$run_folder"

cat <<TEXT
      a page of what happened, with responses token by token; a browser opens it

what next:
  roll generate --model $here/train/checkpoints/latest/actor --as-message --prompt "52+7="
      asks the model
  roll new mine --model MODEL --data rows.jsonl
      a configuration for your own model and rows
TEXT
