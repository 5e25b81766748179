#!/usr/bin/env bash
# From a bare machine to a policy that reinforcement has taught: installs what is missing, builds, and runs `roll quickstart`
# (scripts/quickstart_training.sh). Downloads packages only. Arguments: --dtype fp32|bf16 (fp32), the numbers of training and
# sampling; --resume or --new-run, where a quickstart has been before; cmake's -D options, e.g. -DROLL_WITH_CUDA=OFF.
set -euo pipefail
cd "$(dirname "$0")/.."
dtype=fp32
if [[ ${1:-} == --dtype ]]; then
  [[ ${2:-} == fp32 || ${2:-} == bf16 ]] || { echo "quickstart: --dtype must be fp32 or bf16" >&2; exit 2; }
  dtype=$2
  shift 2
fi
again=()
if [[ ${1:-} == --resume || ${1:-} == --new-run ]]; then
  again=("$1")
  shift
fi
echo "quickstart: set-up (packages and LibTorch), build, then rows, a tiny model, its warm-up and PPO. The first two take minutes"
echo "the first time: up to 15 on 2 cores; the others 2 together."
if [[ $dtype == fp32 ]] && grep -qw amx_bf16 /proc/cpuinfo 2>/dev/null; then
  echo "quickstart: this CPU multiplies bfloat16 (AMX): --dtype bf16 trains and samples in it."
fi

printf '\n== set-up\n'
scripts/setup.sh "$@"
printf '\n== build (%d s so far)\n' $SECONDS
scripts/build.sh "$@" roll
build/roll quickstart {actor_train,reference,critic}.model_args.dtype="$dtype" "${again[@]}"
printf '\nquickstart: done in %d s\n' $SECONDS
