#!/usr/bin/env bash
# Every GPU test and benchmark that exists, on a machine with a GPU; says so and ends 0 on one without.
# Arguments: cmake's -D options, e.g. -DCMAKE_CUDA_ARCHITECTURES=90-real to compile for one GPU only.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! gpus=$(nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader 2>/dev/null) || [[ -z $gpus ]]; then
  echo "gpu_check: skipped, nvidia-smi finds no GPU on this machine"
  exit 0
fi
echo "gpu_check: $gpus"

scripts/setup.sh --tests "$@"
scripts/build.sh "$@"
export ROLL_PYTHON="$PWD/.deps/venv/bin/python"
build/roll --version

failed=()
ctest --test-dir build --label-regex gpu --no-tests=error --output-on-failure || failed+=("ctest")
for bench in tests/bench/*_gpu.sh; do
  [[ -e $bench ]] || continue  # none yet
  echo "gpu_check: $bench"
  "$bench" build || failed+=("$bench")
done
if (( ${#failed[@]} )); then echo "gpu_check: failed: ${failed[*]}" >&2; exit 1; fi
echo "gpu_check: all GPU tests and benchmarks passed"
