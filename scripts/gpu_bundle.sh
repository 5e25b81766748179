#!/usr/bin/env bash
# The half of the GPU check that needs no GPU: builds roll and its tests into a bundle of less than 50 MiB for a machine that has
# one, where nothing is installed. There, with a python3 that has torch 2.11 for CUDA 13:
#
#   tar xzf roll-gpu-check.tar.gz && python3 roll-gpu-check/gpu_check.py --budget 570 --json report.json
#
# --architectures LIST (default 90-real: H100, H200) as cmake's CMAKE_CUDA_ARCHITECTURES; cmake's other -D options. The build folder is
# afterwards configured as it was before.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "gpu_bundle: $*" >&2; exit 1; }

architectures=90-real options=()
while (( $# )); do
  case $1 in
    --architectures) (( $# > 1 )) || fail "--architectures wants a list, e.g. '90-real;100-real'"
      architectures=$2; shift ;;
    -D*) options+=("$1") ;;
    *) fail "unknown argument $1; known: --architectures LIST, and cmake's -D options" ;;
  esac
  shift
done

# All that is needed, before minutes of building.
scripts/setup.sh "${options[@]}"
command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]] || fail "no CUDA compiler (nvcc): install the CUDA 13 toolkit"
for tool in patchelf strip ldd mpirun; do
  command -v $tool >/dev/null || fail "needs $tool: sudo apt-get install -y patchelf binutils libc-bin openmpi-bin"
done
git ls-files --error-unmatch scripts/gpu_bundle.sh >/dev/null 2>&1 || fail "this is no checkout: git does not say which tests there are"

restored=(-UCMAKE_CUDA_ARCHITECTURES)
before=$(sed -n 's/^CMAKE_CUDA_ARCHITECTURES:[^=]*=//p' build/CMakeCache.txt 2>/dev/null || true)
[[ -z $before ]] || restored+=("-DCMAKE_CUDA_ARCHITECTURES=$before")
trap 'cmake "${restored[@]}" -S . -B build >/dev/null 2>&1' EXIT
scripts/build.sh "${options[@]}" "-DCMAKE_CUDA_ARCHITECTURES=$architectures" roll_version
grep -q 'cuda/launch_kernel[.]cu' build/build.ninja || fail "CMake leaves the CUDA part out, for the reason above"
scripts/build.sh roll roll_tests
scripts/package.sh --gpu-check
