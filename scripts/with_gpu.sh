#!/usr/bin/env bash
# Runs its arguments where a GPU is, else says so and exits 77, which ctest counts as skipped.
set -euo pipefail
if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "skipped: nvidia-smi finds no GPU on this machine"
  exit 77
fi
exec "$@"
