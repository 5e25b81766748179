#!/usr/bin/env bash
# Configures (Release, build/) and builds: scripts/build.sh [cmake's -D options] [targets; none: everything].
set -euo pipefail
cd "$(dirname "$0")/.."

options=() targets=()
for argument in "$@"; do
  if [[ $argument == -D* ]]; then options+=("$argument"); else targets+=("$argument"); fi
done

# Sources that include LibTorch take up to 2 GB each to compile: as many jobs as cores, but no more than memory holds.
memory_jobs=$(awk '/MemAvailable/ { print int($2 / 2097152) }' /proc/meminfo)
jobs=$(nproc)
(( jobs <= memory_jobs )) || jobs=$(( memory_jobs > 0 ? memory_jobs : 1 ))

if [[ ! -e build/build.ninja || ${#options[@]} -gt 0 ]]; then
  cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release "${options[@]}"
fi
[[ ! -t 1 ]] || exec ninja -C build -j "$jobs" "${targets[@]}"  # it redraws its own line there

# Elsewhere a line every ten seconds says how far it is; what compilers say is printed as it comes.
echo "build: 0 of up to $(ninja -C build -t commands "${targets[@]}" | wc -l) steps, $jobs at a time"
next_line=10
ninja -C build -j "$jobs" "${targets[@]}" | while IFS= read -r line; do
  if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
    (( SECONDS >= next_line || BASH_REMATCH[1] == BASH_REMATCH[2] )) || continue
    line="build: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps, $SECONDS s"
    next_line=$(( SECONDS + 10 ))
  fi
  printf '%s\n' "$line"
done
