#!/usr/bin/env bash
# Builds the fuzzers of tests/fuzz with clang and runs each for so many seconds, two at a time:
#   scripts/fuzz.sh [seconds of each; 60; 0: only build] [fuzzer...; all]      e.g. scripts/fuzz.sh 3600 template
# What they learn stays in build-fuzz/corpus. An input that ends one is kept in build-fuzz/found, and the script fails;
# build-fuzz/NAME_fuzz FILE runs it again.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
(( $# == 0 )) || shift
names=("$@")
if (( ${#names[@]} == 0 )); then
  for file in tests/fuzz/*_fuzz.cpp; do names+=("$(basename "$file" _fuzz.cpp)"); done
fi

if ! command -v clang++ > /dev/null; then
  sudo=$([[ $EUID -eq 0 ]] || echo sudo)
  $sudo apt-get update -qq
  $sudo apt-get install --yes --no-install-recommends clang libclang-rt-dev
fi
[[ -e build-fuzz/build.ninja ]] || cmake -S tests/fuzz -B build-fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ > /dev/null
ninja -C build-fuzz --quiet "${names[@]/%/_fuzz}"
(( seconds > 0 )) || exit 0
python3 tests/fuzz/make_corpus.py build-fuzz/seeds

run_one() {
  local name=$1 log=build-fuzz/$1.log
  mkdir -p "build-fuzz/corpus/$name" build-fuzz/found
  # LibTorch is not instrumented: what it keeps for ever looks like a leak.
  local leaks=1
  [[ $name != safetensors && $name != json ]] || leaks=0
  if ! ASAN_OPTIONS=detect_leaks=$leaks:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 OMP_NUM_THREADS=1 \
      "build-fuzz/${name}_fuzz" "build-fuzz/corpus/$name" "build-fuzz/seeds/$name" -dict="build-fuzz/seeds/$name.dict" \
      -max_total_time="$seconds" -timeout=30 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
      -artifact_prefix="build-fuzz/found/$name-" > "$log" 2>&1; then
    echo "fuzz: $name FAILED; the end of $log:"
    grep -aE 'ERROR|SUMMARY|Test unit|runtime error|what\(\)' "$log" | head -5
    return 1
  fi
  echo "fuzz: $name: $(awk '/number_of_executed_units/ {print $2}' "$log") executions," \
    "$(grep -aoE 'cov: [0-9]+ ft: [0-9]+' "$log" | tail -1 | sed 's/cov: \([0-9]*\) ft: \([0-9]*\)/\1 edges, \2 features/')," \
    "peak $(awk '/peak_rss_mb/ {print $2}' "$log") MB"
}
export -f run_one
export seconds
printf '%s\n' "${names[@]}" | xargs -P 2 -I{} bash -c 'run_one {}'
