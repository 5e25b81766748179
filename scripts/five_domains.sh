#!/usr/bin/env bash
# The five-domain recipe in miniature: makes rows of mathematics, code, judged answers, multiple choice and instructions and
# two tiny models, warms both up, then trains one by reinforcement while the other is its judge. Needs build/roll
# (scripts/build.sh). Arguments: overrides of configs/rlvr_five_domains_cpu.yaml, as max_steps=30.
set -euo pipefail
cd "$(dirname "$0")/.."
roll=build/roll
here=output/five_domains

python3 scripts/make_five_domains.py --out $here/data
# The warm-up depends on these alone: a second run with the same ones starts where it ended.
warm_up=$(cat "$roll" scripts/five_domains.sh configs/rlvr_five_domains_sft.yaml $here/data/{sft,judge_sft}.jsonl | sha256sum)
if [[ ! -e $here/warm_up || $(< $here/warm_up) != "$warm_up" ]]; then
  rm -rf $here/{model,sft,judge_sft,warm_up}
  $roll init-model --arch qwen2 --hidden 128 --intermediate 512 --layers 4 --heads 4 --kv-heads 2 \
    --tokenizer builtin --seed 42 --out $here/model
  $roll sft --config configs/rlvr_five_domains_sft.yaml
  $roll sft --config configs/rlvr_five_domains_sft.yaml exp_name=five_domains_judge output_dir=./$here/judge_sft max_steps=150 \
    sft_train.data_args.file_name=./$here/data/judge_sft.jsonl
  echo "$warm_up" > $here/warm_up
fi
$roll train --config configs/rlvr_five_domains_cpu.yaml --new-run "$@"
