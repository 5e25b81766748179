#!/usr/bin/env bash
# A relocatable bundle: roll with the libraries that a plain Linux lacks, Open MPI's launcher included, LibTorch aside.
#
#   scripts/package.sh [file.tar.gz]                   default: build/roll-<version>-<machine>.tar.gz
#   tar xzf roll-*.tar.gz && roll-*/roll --version     finds LibTorch by --torch DIR (first), ROLL_TORCH, or python3's torch
#
# The bundle runs where glibc and libstdc++ are at least as new as here.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v patchelf >/dev/null || { echo "package: needs patchelf: sudo apt-get install -y patchelf" >&2; exit 1; }
[[ -x build/roll ]] || { echo "package: nothing built yet; run scripts/build.sh roll" >&2; exit 1; }

version=$(sed -n 's/^project(roll VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=roll-$version-$(uname -m)
archive=${1:-build/$name.tar.gz}
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
bundle=$staging/$name
mkdir -p "$bundle"/{bin,lib,lib/openmpi,share}

# Of LibTorch, NVIDIA and the C and C++ run time, the target machine's own are used.
readonly kElsewhere='/(libtorch|libc10|libcu|libnv|libnccl|libcupti|libgomp|ld-linux|libc\.so|libm\.so|libdl|libpthread|librt|libgcc_s|libstdc)'
copy_with_libraries() {  # file, folder
  cp -L "$1" "$2/"
  ldd "$1" | awk '$3 ~ "^/" { print $3 }' | grep -vE "$kElsewhere" | while read -r library; do
    [[ -e $bundle/lib/${library##*/} ]] || cp -L "$library" "$bundle/lib/"
  done
}

copy_with_libraries build/roll "$bundle/bin"
mpi=$(dirname "$(ldd build/roll | awk '/libmpi\.so/ { print $3 }' | xargs readlink -f)")
for tool in mpirun orted; do
  [[ -x $(command -v $tool) ]] && copy_with_libraries "$(readlink -f "$(command -v $tool)")" "$bundle/bin"
done
mv "$bundle/bin/orterun" "$bundle/bin/mpirun" 2>/dev/null || true
for plugin in "$mpi"/openmpi*/mca_*.so "$mpi"/openmpi/lib/openmpi*/mca_*.so; do
  # Fabrics and launchers of clusters bring large libraries of their own: those machines have an MPI installed.
  [[ -e $plugin && ! $plugin =~ (ofi|ucx|psm|verbs|usnic|slurm|tm\.so|lsf|gridengine|fs_|fcoll|fbtl|sharedfp|io_) ]] || continue
  copy_with_libraries "$plugin" "$bundle/lib/openmpi"
done
for help in /usr/share/openmpi "$mpi"/../share/openmpi; do [[ -d $help ]] && cp -rL "$help" "$bundle/share/" && break; done

for file in "$bundle"/bin/* "$bundle"/lib/*.so* "$bundle"/lib/openmpi/*.so; do
  [[ -f $file ]] || continue
  strip --strip-unneeded "$file" 2>/dev/null || true
  case $file in
    */bin/*) patchelf --set-rpath '$ORIGIN/../lib' "$file" ;;
    */openmpi/*) patchelf --set-rpath '$ORIGIN/..' "$file" ;;
    *) patchelf --set-rpath '$ORIGIN' "$file" ;;
  esac
done

cat > "$bundle/roll" <<'LAUNCHER'
#!/usr/bin/env bash
# Starts roll with a LibTorch of this machine: roll --torch DIR ..., or ROLL_TORCH=DIR, or the torch of python3.
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
# A pip-installed torch finds NVIDIA's wheels beside itself; an unpacked one has them as neighbours.
export LD_LIBRARY_PATH=$torch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$here/bin:$PATH OPAL_PREFIX=$here OPAL_DATADIR=$here/share OPAL_PKGDATADIR=$here/share/openmpi
export OMPI_MCA_mca_base_component_path=$here/lib/openmpi
exec "$here/bin/roll" "$@"
LAUNCHER
chmod +x "$bundle/roll"

tar -C "$staging" -czf "$archive" "$name"
size=$(du -m "$archive" | cut -f1)
echo "package: $archive, $size MiB packed, $(du -sm "$bundle" | cut -f1) MiB unpacked, $(find "$bundle" -type f | wc -l) files"
(( size < 60 )) || { echo "package: larger than 60 MiB" >&2; exit 1; }
