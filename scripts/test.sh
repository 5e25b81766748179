#!/usr/bin/env bash
# Set-up, build, checks, tests. Arguments: cmake's -D options, e.g. -DROLL_WITH_CUDA=OFF. What CI runs.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh --tests "$@"
scripts/check.sh  # seconds, so before the build
scripts/build.sh "$@"
export ROLL_PYTHON="$PWD/.deps/venv/bin/python"
exec ctest --test-dir build --output-on-failure --parallel 2 --timeout 600
