#!/usr/bin/env bash
# Set-up, build, checks, tests. Arguments: cmake's -D options, e.g. -DROLL_WITH_CUDA=OFF. What CI runs.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh "$@"
# What only checks and tests want comes while the compiler works.
scripts/setup.sh --tests "$@" > .deps/setup_tests.log 2>&1 &
setup_of_tests=$!
trap 'kill $setup_of_tests 2>/dev/null || true' EXIT
scripts/build.sh "$@"
wait $setup_of_tests || { cat .deps/setup_tests.log; exit 1; }
cat .deps/setup_tests.log
scripts/check.sh
scripts/tidy.sh  # of what changed, as it needs the build's commands
export ROLL_PYTHON="$PWD/.deps/venv/bin/python"
ctest --test-dir build --output-on-failure --parallel 3 --timeout 600
# What CI asks for: its own build with clang, and then so many seconds for each parser, two at a time.
[[ -z ${ROLL_FUZZ_SECONDS:-} ]] || scripts/fuzz.sh "$ROLL_FUZZ_SECONDS"
