#!/usr/bin/env bash
# The quickstart (scripts/quickstart.sh) with a mixture of experts, whose training goes through the experts that sampling chose:
# held-out accuracy rises from 13.5 % to 95 % and more (measured: 98.5 %, in 3 minutes on one of 2 busy cores). Needs build/roll
# (scripts/build.sh), or the program that ROLL names; run it where output/quickstart may be written anew.
#
#   quickstart_mixture.sh [overrides of configs/quickstart.yaml, as max_steps=48]
set -euo pipefail
own=$(cd "$(dirname "$0")/.." && pwd)
roll=${ROLL:-$own/build/roll}
here=output/quickstart
balance=strategy_args.strategy_config.moe_aux_loss_coeff=0.01

rm -rf $here/{model,sft,warm_up}
python3 "$own/scripts/make_arithmetic.py" --out $here/data
"$roll" init-model --arch qwen3_moe --hidden 128 --layers 4 --heads 4 --kv-heads 2 --experts 4 --experts-per-token 2 \
  --expert-intermediate 128 --tokenizer builtin --seed 42 --out $here/model
"$roll" sft --config "$own/configs/quickstart_sft.yaml" sft_train.$balance
"$roll" train --config "$own/configs/quickstart.yaml" --new-run routing_replay=true actor_train.$balance max_steps=96 \
  actor_train.training_args.learning_rate=3e-4 "$@"
