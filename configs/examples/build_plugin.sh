#!/usr/bin/env bash
# Builds a reward, environment or loss plug-in: build_plugin.sh my_reward.cpp makes libmy_reward.so beside it. Wants g++. A loss is built with
# LibTorch's headers: those of ROLL_TORCH, or of python3's torch, which must be the one that roll runs with.
set -euo pipefail
source=$1
here=$(cd "$(dirname "$0")" && pwd)
flags=(-I "$here")
if grep -q '<roll/loss.h>' "$source"; then
  torch=${ROLL_TORCH:-$(python3 -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")')}
  [[ -e $torch/include/ATen/ATen.h ]] || { echo "build_plugin: no LibTorch headers in '$torch/include'; set ROLL_TORCH to torch's folder" >&2; exit 2; }
  # Behind the system's own folders: the wheel brings copies of other libraries.
  flags+=(-idirafter "$torch/include" -idirafter "$torch/include/torch/csrc/api/include")
fi
library=$(cd "$(dirname "$source")" && pwd)/lib$(basename "$source" .cpp).so
g++ -std=c++20 -O2 -shared -fPIC "${flags[@]}" "$source" -o "$library"
echo "$library"
