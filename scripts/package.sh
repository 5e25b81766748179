#!/usr/bin/env bash
# Packs build/roll so that it runs where nothing is compiled:
#
#   scripts/package.sh                       build/roll-<version>-<machine>.tar.gz: unpack anywhere, start roll-*/roll
#   scripts/package.sh --wheel               build/roll_rlvr-*.whl: pip install brings `roll`, and LibTorch beside it
#   scripts/package.sh --deb                 build/roll_<version>_<architecture>.deb: apt install ./build/roll_*.deb
#   scripts/package.sh --gpu-check           build/roll-gpu-check.tar.gz, with the tests (scripts/gpu_bundle.sh)
#
# --build DIR (default build) is where the program is; --cpu-build DIR adds the one of a folder that was configured with
# -DROLL_WITH_CUDA=OFF, which starts where torch has no CUDA; --out DIR (default build) gets the package.
#
# LibTorch is never inside: it is found by --torch DIR (first), ROLL_TORCH, or python3's torch. Nor is Apache Arrow, which
# only Parquet and compressed files need: ROLL_ARROW, or python3's pyarrow. A package runs where glibc
# and libstdc++ are at least as new as here.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "package: $*" >&2; exit 1; }

kind=tar build=build cpu_build='' out=build
while (( $# )); do
  case $1 in
    --wheel | --deb | --gpu-check) kind=${1#--} ;;
    --build | --cpu-build | --out) (( $# > 1 )) || fail "$1 wants a folder"
      declare "$(tr - _ <<< "${1#--}")=$2"; shift ;;
    *) fail "unknown argument $1; known: --wheel, --deb, --gpu-check, --build DIR, --cpu-build DIR, --out DIR" ;;
  esac
  shift
done
for tool in patchelf strip; do
  command -v $tool >/dev/null || fail "needs $tool: sudo apt-get install -y patchelf binutils"
done
[[ -x $build/roll ]] || fail "nothing built in $build yet; run scripts/build.sh roll"
[[ $kind != gpu-check || -x $build/roll_tests ]] || fail "no tests built in $build; run scripts/gpu_bundle.sh"

version=$("$build/roll" --version | sed -n '1s/^roll \([0-9.]*\).*/\1/p')
[[ -n $version ]] || fail "$build/roll --version does not say its version"
torch=$(sed -n 's/^readonly kTorch=//p' scripts/setup.sh)
arrow=$(sed -n 's/^readonly kArrow=//p' scripts/setup.sh)
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
bundle=$staging/roll-$version-$(uname -m)
[[ $kind != gpu-check ]] || bundle=$staging/roll-gpu-check
mkdir -p "$bundle"/{bin,lib,share} "$out"

# --- Programs and their libraries ----------------------------------------------------------------------------------------

# Of LibTorch, Arrow, NVIDIA and the C and C++ run time, the target machine's own are used.
readonly kElsewhere='/(libarrow|libparquet|libtorch|libc10|libcu([^r]|rand)|libnv|libnccl|libgomp|ld-linux|libc[.]so|libm[.]so|libdl|libpthread|librt[.]so|libutil|libgcc_s|libstdc)'
copy_with_libraries() {  # file, target
  cp -L "$1" "$2"
  [[ $kind != deb ]] || return 0  # Debian has them
  ldd "$1" | awk -F ' => | [(]0x' -v elsewhere="$kElsewhere" '$2 ~ "^/" && $2 !~ elsewhere { print $2 }' | while read -r library; do
    [[ -e $bundle/lib/${library##*/} ]] || cp -L "$library" "$bundle/lib/"
  done
}

# Open MPI finds its plug-ins below OPAL_PREFIX at the place that it was built for; PMIx is told the folder.
# Fabrics and cluster launchers bring large libraries of their own: machines with those have an MPI installed.
readonly kFabrics='(ofi|ucx|psm|openib|usnic|slurm|tm|lsf|gridengine|romio|ompio|fcoll|fbtl|sharedfp|fs_ufs|osc_|monitoring|atomic|memheap|spml|scoll)'
add_mpi() {
  local tool plugin folder
  for tool in mpirun orted; do
    if command -v $tool >/dev/null; then copy_with_libraries "$(command -v $tool)" "$bundle/bin/"; fi
  done
  for plugin in /usr/lib/*/openmpi/lib/openmpi3/mca_*.so /usr/lib/*/pmix2/lib/pmix/*.so; do
    [[ -e $plugin && ! ${plugin##*/} =~ $kFabrics ]] || continue
    folder=$(dirname "$bundle/${plugin#/usr/}")
    mkdir -p "$folder"
    copy_with_libraries "$plugin" "$folder/"
  done
  [[ ! -d /usr/share/openmpi ]] || cp -rL /usr/share/openmpi "$bundle/share/"
}

copy_with_libraries "$build/roll" "$bundle/bin/"
for file in libroll_arrow.so libroll_grammar.so roll_grammar; do
  [[ ! -e $build/$file ]] || copy_with_libraries "$build/$file" "$bundle/bin/"
done
[[ -z $cpu_build ]] || copy_with_libraries "$cpu_build/roll" "$bundle/bin/roll-cpu"
[[ $kind != gpu-check ]] || copy_with_libraries "$build/roll_tests" "$bundle/bin/"
[[ $kind == deb ]] || add_mpi
find "$bundle/bin" "$bundle/lib" -type f | while read -r file; do
  strip --strip-unneeded "$file" 2>/dev/null || true
  if [[ $kind == deb ]]; then patchelf --remove-rpath "$file"; continue; fi
  # shellcheck disable=SC2016  # the loader expands $ORIGIN
  patchelf --set-rpath '$ORIGIN/'"$(realpath --relative-to="$(dirname "$file")" "$bundle/lib")" "$file"
done

# --- What comes along ----------------------------------------------------------------------------------------------------

sed "s/@TORCH@/$torch/g" scripts/bundle/roll > "$bundle/roll"
chmod +x "$bundle/roll"
mkdir -p "$bundle/share/roll/scripts"
cp -r configs "$bundle/share/roll/"
cp scripts/quickstart_training.sh scripts/make_*.py scripts/data_rows.py scripts/upload_metrics.py "$bundle/share/roll/scripts/"
install -Dm644 -t "$bundle/share/roll/include/roll" lib/loss/roll/loss.h lib/reward/roll/reward.h lib/environment/roll/environment.h

mkdir -p "$bundle"/share/{man/man1,bash-completion/completions,zsh/site-functions}
"$build/roll" man > "$bundle/share/man/man1/roll.1"
"$build/roll" completion bash > "$bundle/share/bash-completion/completions/roll"
"$build/roll" completion zsh > "$bundle/share/zsh/site-functions/_roll"

# The licences of what is inside, as Debian words them.
[[ ! -d /var/lib/dpkg/info ]] || find "$bundle/lib" -type f -name '*.so*' -printf '%f\n' |
  awk -v ours="/lib/$(uname -m)-linux-gnu/" 'FILENAME == "-" { wanted[$0]; next }
    index($0, ours) { name = $0; sub(".*/", "", name) }
    name in wanted && !seen[name]++ { package = FILENAME; gsub(".*/|(:[a-z0-9]+)?[.]list$", "", package); print package }' \
    - /var/lib/dpkg/info/*.list | sort -u |
  while read -r package; do
    [[ ! -e /usr/share/doc/$package/copyright ]] || install -Dm644 "/usr/share/doc/$package/copyright" \
      "$bundle/share/licenses/$package"
  done

# --- The package ---------------------------------------------------------------------------------------------------------

pack_tar() {
  package=$out/$(basename "$bundle").tar.gz
  tar -C "$staging" --owner=0 --group=0 -czf "$package" "$(basename "$bundle")"
}

case $kind in
  tar) pack_tar ;;
  gpu-check)
    cp "$bundle/roll" "$bundle/roll_tests"
    git ls-files tests configs | tar -c -T - | tar -x -C "$bundle"
    cp scripts/gpu_{check,peers,sizes,table}.py scripts/bench_replay.py "$bundle/"
    pack_tar ;;
  wheel) package=$(python3 scripts/bundle/make_wheel.py "$bundle" --version "$version" --torch "$torch" --arrow "$arrow" --out "$out") ;;
  deb) package=$(scripts/bundle/make_deb.sh "$bundle" "$version" "$torch" "$out") ;;
esac
size=$(du -m "$package" | cut -f1)
echo "package: $package, $size MiB packed, $(du -sm "$bundle" | cut -f1) MiB unpacked, $(find "$bundle" -type f | wc -l) files"
most=60
[[ $kind != gpu-check ]] || most=50  # of what may be sent to a machine that is lent
(( size < most )) || fail "larger than $most MiB"
