#!/usr/bin/env bash
# Everything that can be checked without running the program: layers, the rules of the house, formatting (--fix writes it).
set -euo pipefail
cd "$(dirname "$0")/.."

# One formatter version for everybody (tests/requirements.txt): others break lines differently.
formatter=.deps/venv/bin/clang-format
[[ -x $formatter ]] || { echo "check: run scripts/setup.sh --tests first; it brings the formatter" >&2; exit 1; }
mapfile -t sources < <(git ls-files '*.h' '*.cpp' '*.cu' '*.cuh')
[[ ${1:-} != --fix ]] || "$formatter" -i "${sources[@]}"

failed=0
python3 scripts/check_layers.py || failed=1
python3 scripts/check_includes.py || failed=1
python3 scripts/check_house.py || failed=1
if badly=$("$formatter" --dry-run -Werror "${sources[@]}" 2>&1); then
  echo "format: ${#sources[@]} source files are as clang-format writes them"
else
  echo "format: these are not as clang-format writes them; scripts/check.sh --fix does:"
  grep -oE '^[^:]+:[0-9]+' <<< "$badly" | awk -F: '!seen[$1]++ { print "  " $1 " (first in line " $2 ")" }'
  failed=1
fi
exit $failed
