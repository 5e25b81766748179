#!/usr/bin/env bash
# Set-up, build, checks, tests. Arguments: cmake's -D options, e.g. -DROLL_WITH_CUDA=OFF. What CI runs.
# With ROLL_FUZZ_SECONDS each parser is fuzzed for so long, by a build of its own with clang.
set -euo pipefail
cd "$(dirname "$0")/.."
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

# beside NAME COMMAND...: in the background, its words kept for finish_beside.
beside() { "${@:2}" > ".deps/$1.log" 2>&1 & pids[$1]=$!; }
# finish_beside NAME: waits for it, shows its words; fails as it did.
finish_beside() {
  local status=0
  wait "${pids[$1]}" || status=$?
  cat ".deps/$1.log"
  return $status
}
declare -A pids

scripts/setup.sh "$@"
beside setup_tests scripts/setup.sh --tests "$@"  # while the compiler works
scripts/build.sh "$@" roll_forked  # the program; ctest has roll_tests built beside the tests of the program
finish_beside setup_tests

# While tests wait: the checks, clang-tidy on what changed, which needs the build's commands, and the fuzzers' build.
beside check nice -n 19 scripts/check.sh
beside tidy nice -n 19 scripts/tidy.sh
[[ -z ${ROLL_FUZZ_SECONDS:-} ]] || beside fuzz_build nice -n 19 scripts/fuzz.sh 0
export ROLL_PYTHON="$PWD/.deps/venv/bin/python"
ctest --test-dir build --output-on-failure --parallel 8 --timeout 600
finish_beside check
finish_beside tidy
[[ -n ${ROLL_FUZZ_SECONDS:-} ]] || exit 0
finish_beside fuzz_build
scripts/fuzz.sh "$ROLL_FUZZ_SECONDS"
