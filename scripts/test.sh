#!/usr/bin/env bash
# Set-up, build, checks, tests. Arguments: cmake's -D options, e.g. -DROLL_WITH_CUDA=OFF. What CI runs.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh --tests "$@"
scripts/check.sh  # seconds, so before the build
scripts/build.sh "$@"
scripts/tidy.sh || echo "tidy: mend what stands above; it stops no build yet"  # what changed, as it needs the build's commands
export ROLL_PYTHON="$PWD/.deps/venv/bin/python"
ctest --test-dir build --output-on-failure --parallel 3 --timeout 600
# What CI asks for: its own build with clang, and then so many seconds for each parser, two at a time.
[[ -z ${ROLL_FUZZ_SECONDS:-} ]] || scripts/fuzz.sh "$ROLL_FUZZ_SECONDS"
