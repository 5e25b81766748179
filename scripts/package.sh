#!/usr/bin/env bash
# A relocatable bundle: roll with the libraries that a plain Linux lacks, Open MPI's launcher included, LibTorch aside.
#
#   scripts/package.sh [file.tar.gz]                   default: build/roll-<version>-<machine>.tar.gz
#   tar xzf roll-*.tar.gz && roll-*/roll --version     finds LibTorch by --torch DIR (first), ROLL_TORCH, or python3's torch
#
# The bundle runs where glibc and libstdc++ are at least as new as here. With --gpu-check before the file it holds the
# tests as well, and gpu_check.py, which runs them (scripts/gpu_bundle.sh builds and packs all that).
set -euo pipefail
cd "$(dirname "$0")/.."
command -v patchelf >/dev/null || { echo "package: needs patchelf: sudo apt-get install -y patchelf" >&2; exit 1; }
[[ -x build/roll ]] || { echo "package: nothing built yet; run scripts/build.sh roll" >&2; exit 1; }

version=$(sed -n 's/^project(roll VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=roll-$version-$(uname -m)
programs=(roll)
if [[ ${1:-} == --gpu-check ]]; then
  shift
  name=roll-gpu-check programs+=(roll_tests)
fi
archive=${1:-build/$name.tar.gz}
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
bundle=$staging/$name
mkdir -p "$bundle"/{bin,lib,share}

# Of LibTorch, NVIDIA and the C and C++ run time, the target machine's own are used.
readonly kElsewhere='/(libtorch|libc10|libcu([^r]|rand)|libnv|libnccl|libgomp|ld-linux|libc[.]so|libm[.]so|libdl|libpthread|librt[.]so|libutil|libgcc_s|libstdc)'
copy_with_libraries() {  # file, folder
  cp -L "$1" "$2/"
  ldd "$1" | awk -v elsewhere="$kElsewhere" '$3 ~ "^/" && $3 !~ elsewhere { print $3 }' | while read -r library; do
    [[ -e $bundle/lib/${library##*/} ]] || cp -L "$library" "$bundle/lib/"
  done
}

for program in "${programs[@]}"; do copy_with_libraries "build/$program" "$bundle/bin"; done
for tool in mpirun orted; do
  command -v $tool >/dev/null && copy_with_libraries "$(command -v $tool)" "$bundle/bin"
done
# Open MPI finds its plug-ins below OPAL_PREFIX at the place that it was built for; PMIx is told the folder.
# Fabrics and cluster launchers bring large libraries of their own: machines with those have an MPI installed.
readonly kFabrics='(ofi|ucx|psm|openib|usnic|slurm|tm|lsf|gridengine|romio|ompio|fcoll|fbtl|sharedfp|fs_ufs|osc_|monitoring|atomic|memheap|spml|scoll)'
for plugin in /usr/lib/*/openmpi/lib/openmpi3/mca_*.so /usr/lib/*/pmix2/lib/pmix/*.so; do
  [[ -e $plugin && ! ${plugin##*/} =~ $kFabrics ]] || continue
  folder=$(dirname "$bundle/${plugin#/usr/}")
  mkdir -p "$folder"
  copy_with_libraries "$plugin" "$folder"
done
[[ -d /usr/share/openmpi ]] && cp -rL /usr/share/openmpi "$bundle/share/"

find "$bundle/bin" "$bundle/lib" -type f | while read -r file; do
  strip --strip-unneeded "$file" 2>/dev/null || true
  # shellcheck disable=SC2016  # the loader expands $ORIGIN
  patchelf --set-rpath '$ORIGIN/'"$(realpath --relative-to="$(dirname "$file")" "$bundle/lib")" "$file"
done

cat > "$bundle/roll" <<'LAUNCHER'
#!/usr/bin/env bash
# Starts the program of its own name with a LibTorch of this machine: --torch DIR before all else, or ROLL_TORCH=DIR, or the
# torch of python3.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
torch=${ROLL_TORCH:-}
if [[ ${1:-} == --torch && $# -ge 2 ]]; then torch=$2; shift 2; fi
if [[ -z $torch ]]; then
  torch=$(python3 -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")' 2>/dev/null || true)
fi
if [[ ! -e $torch/lib/libtorch_cpu.so ]]; then
  echo "roll: no LibTorch found${torch:+ in $torch/lib}: pip install torch==2.11.0, or give --torch DIR (the folder with lib/libtorch_cpu.so)" >&2
  exit 2
fi
libraries=$torch/lib
for nvidia in "$torch"/../nvidia/*/lib; do libraries+=:$nvidia; done  # what torch's own wheels bring
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$here/bin:$PATH OPAL_PREFIX=$here
for pmix in "$here"/lib/*/pmix2/lib/pmix; do export PMIX_MCA_mca_base_component_path=$pmix; done
exec "$here/bin/${0##*/}" "$@"
LAUNCHER
chmod +x "$bundle/roll"
if [[ $name == roll-gpu-check ]]; then
  cp "$bundle/roll" "$bundle/roll_tests"
  git ls-files tests configs | tar -c -T - | tar -x -C "$bundle"
  cp scripts/gpu_check.py scripts/bench_replay.py "$bundle/"
fi

tar -C "$staging" -czf "$archive" "$name"
size=$(du -m "$archive" | cut -f1)
echo "package: $archive, $size MiB packed, $(du -sm "$bundle" | cut -f1) MiB unpacked, $(find "$bundle" -type f | wc -l) files"
(( size < 60 )) || { echo "package: larger than 60 MiB" >&2; exit 1; }
