#!/usr/bin/env bash
# The half of the GPU check that needs no GPU: builds roll and its tests into a bundle for a machine that has one, where
# nothing is installed. There, with a python3 that has torch 2.11 for CUDA 13:
#
#   tar xzf roll-gpu-check.tar.gz && python3 roll-gpu-check/gpu_check.py --json report.json
#
# Arguments: cmake's -D options, e.g. -DCMAKE_CUDA_ARCHITECTURES=90-real to compile for one GPU only.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh "$@"
scripts/build.sh "$@" roll roll_tests
exec scripts/package.sh --gpu-check
