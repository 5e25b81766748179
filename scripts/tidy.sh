#!/usr/bin/env bash
# Runs clang-tidy (.clang-tidy) on sources of app/ and lib/: those named, else those that changed against $ROLL_TIDY_BASE (default:
# where this branch left origin/main, or the last commit's parent). A source costs 5 s, one that includes LibTorch's functions 20:
# of more than eight the eight that changed most are looked at, unless $ROLL_TIDY_MOST says another number. Headers are looked at
# with the sources that include them. Needs a configured build/.
set -euo pipefail
cd "$(dirname "$0")/.."
skip() { echo "tidy: SKIPPED: $*"; exit 0; }

tidy=$(command -v clang-tidy-14 || command -v clang-tidy || true)
[[ -n $tidy && $("$tidy" --version) == *"version 14."* ]] || skip "no clang-tidy 14 here (scripts/setup.sh --tests installs it as root on Debian 12)"
[[ -e build/compile_commands.json ]] || skip "nothing is configured in build/; scripts/build.sh does it"

# changed_sources BASE: "lines file" of each, changes that are not committed included.
changed_sources() {
  git diff --numstat --diff-filter=d "$1" -- 'app/*.cpp' 'lib/*.cpp' | awk '{ print $1 + $2, $3 }'
  git ls-files --others --exclude-standard 'app/*.cpp' 'lib/*.cpp' | xargs -r wc -l | awk '$2 != "total" { print $1, $2 }'
}

sources=("$@")
if (( $# == 0 )); then
  base=${ROLL_TIDY_BASE:-$(git merge-base HEAD origin/main 2>/dev/null || true)}
  [[ -n $base && $base != $(git rev-parse HEAD) ]] || base=$(git rev-parse --verify -q HEAD~1) ||
    skip "there is no commit to compare with; name files, or ROLL_TIDY_BASE=COMMIT"
  mapfile -t sources < <(changed_sources "$base" | sort -rnk1 | cut -d' ' -f2-)
  most=${ROLL_TIDY_MOST:-8}
  echo "tidy: ${#sources[@]} sources changed since ${base:0:9}$( (( ${#sources[@]} <= most )) || echo "; the $most that changed most are looked at")"
  sources=("${sources[@]:0:most}")
fi
(( ${#sources[@]} == 0 )) || exec scripts/tidy.py "$tidy" "${sources[@]}"
