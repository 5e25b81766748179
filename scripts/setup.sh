#!/usr/bin/env bash
# Brings a bare Debian or Ubuntu machine to where CMake can configure: system packages, LibTorch, Apache Arrow, and with
# --tests the Python wheels that the tests compare with. All but the system packages lands in .deps/, which git ignores.
#
# May be repeated (nothing to do: well under a second) and interrupted (a folder gets its final name when it is whole).
# A LibTorch of your own is used instead: Torch_DIR=... or CMAKE_PREFIX_PATH=... (environment, or -D as for cmake).
set -euo pipefail
cd "$(dirname "$0")/.."

readonly kTorch=2.11.0
readonly kArrow=26.0.1
readonly kXgrammar=0.1.34
readonly kTools="g++ cmake ninja:ninja-build ccache ld.lld:lld pkg-config git unzip patchelf mpirun:openmpi-bin"
readonly kLibraries="libcli11-dev libyaml-cpp-dev nlohmann-json3-dev libfmt-dev catch2 libopenmpi-dev libpcre2-dev libicu-dev libcld2-dev libxxhash-dev libcurl4-openssl-dev libssl-dev libmicrohttpd-dev libseccomp-dev"

say() { echo "setup: $*"; }
fail() { echo "setup: $*" >&2; exit 1; }

# --- System packages ---------------------------------------------------------------------------------------------------

missing_packages() {
  local tool
  for tool in $kTools; do command -v "${tool%%:*}" >/dev/null || echo "${tool##*:}"; done
  command -v python3 >/dev/null || echo python3
  python3 -c 'import venv, ensurepip' 2>/dev/null || echo python3-venv
  # shellcheck disable=SC2086  # a list of words
  { dpkg-query -W -f='${Package} ${db:Status-Status}\n' $kLibraries 2>/dev/null || true; } |
    awk -v wanted="$kLibraries" '$2 == "installed" { have[$1] = 1 }
      END { n = split(wanted, names, " "); for (i = 1; i <= n; ++i) if (!(names[i] in have)) print names[i] }'
}

install_packages() {
  local missing as_root=()
  if ! command -v dpkg-query >/dev/null; then
    say "not Debian or Ubuntu; you need these, by your system's names: $kTools $kLibraries python3"
    return
  fi
  missing=$(missing_packages | sort -u | xargs)
  [[ -z $missing ]] && return
  if (( EUID != 0 )); then
    sudo -n true 2>/dev/null || fail "system packages are missing; please run, then start again:
  sudo apt-get update && sudo apt-get install -y $missing"
    as_root=(sudo -n)
  fi
  say "installing system packages: $missing"
  "${as_root[@]}" apt-get update -qq
  # shellcheck disable=SC2086
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends $missing
}

# A browser looks at the pages that we write; without one those tests are skipped, so its absence is no error.
install_browser() {
  for browser in chromium chromium-browser google-chrome; do command -v $browser >/dev/null && return; done
  command -v dpkg-query >/dev/null && (( EUID == 0 )) && apt-cache show chromium >/dev/null 2>&1 || return 0
  say "installing chromium, for the tests of pages"
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends chromium ||
    say "chromium could not be installed; those tests will be skipped"
}

# Without these some tests are skipped, or look at less: several hosts as network namespaces (not as root: skipped too),
# packages, completion in zsh, the manual page, changed sources by clang-tidy (of the version that .clang-tidy is for).
install_test_tools() {
  local tool
  command -v dpkg-query >/dev/null && (( EUID == 0 )) || return 0
  for tool in ip:iproute2 dpkg-shlibdeps:dpkg-dev zsh:zsh groff:groff mandoc:mandoc clang-tidy-14:clang-tidy-14; do
    command -v "${tool%%:*}" >/dev/null && continue
    say "installing for the tests: ${tool##*:}"
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends "${tool##*:}" ||
      say "${tool##*:} could not be installed; what wants it will be skipped"
  done
}

# --- Python, used only to download and to test ---------------------------------------------------------------------------

make_venv() {
  [[ -e .deps/venv/complete ]] && return
  say "making a Python environment for downloads: .deps/venv"
  rm -rf .deps/venv
  python3 -m venv .deps/venv
  touch .deps/venv/complete
}

install_test_wheels() {
  cmp -s tests/requirements.txt .deps/venv/installed && return
  make_venv
  say "installing the Python wheels that the tests compare with (tests/requirements.txt)"
  .deps/venv/bin/python -m pip install --disable-pip-version-check -q -r tests/requirements.txt
  cp tests/requirements.txt .deps/venv/installed
}

# download NAME==VERSION [pip option...]: a .whl in .deps/partial, and every ten seconds a line that says how much is there.
download() {
  local status=0 second
  mkdir -p .deps/partial/pip
  for (( second = 1; ; ++second )); do
    sleep 1
    kill -0 $$ || break
    (( second % 10 )) || say "$1: $(du -sm .deps/partial | cut -f1) MB so far"
  done 2>/dev/null 9>&- &
  TMPDIR="$PWD/.deps/partial/pip" .deps/venv/bin/python -m pip download --disable-pip-version-check --no-cache-dir -q \
    --no-deps --only-binary=:all: -d .deps/partial "$@" || status=$?
  { kill $! && wait $!; } 2>/dev/null || true
  (( status == 0 )) || fail "$1 could not be downloaded; see pip's message above"
  rm -rf .deps/partial/pip
}

# fetch_wheel NAME==VERSION [pip option...]: its contents in .deps/partial/content.
fetch_wheel() {
  make_venv
  say "downloading $1"
  rm -rf .deps/partial
  mkdir -p .deps/partial/content
  download "$@"
  say "unpacking $1"
  unzip -q .deps/partial/*.whl -d .deps/partial/content
  rm -f .deps/partial/*.whl
}

# --- LibTorch ------------------------------------------------------------------------------------------------------------

# The root of a LibTorch that the user names, else nothing.
given_torch() {
  local folder folders
  IFS=':;' read -ra folders <<< "$CMAKE_PREFIX_PATH"
  for folder in ${Torch_DIR:+"$Torch_DIR/../../.."} "${folders[@]}"; do
    [[ -e $folder/include/ATen/ATen.h ]] && (cd "$folder" && pwd) && return
  done
  return 0
}

install_torch() {
  [[ -e .deps/torch/version && $(< .deps/torch/version) == "$kTorch" ]] && return
  # The wheel of one fixed Python serves every machine: only its C++ half is kept.
  fetch_wheel "torch==$kTorch" --python-version 3.11 --implementation cp --abi cp311 --platform "manylinux_2_28_$(uname -m)"
  mkdir .deps/partial/torch
  mv .deps/partial/content/torch/{include,lib,share} .deps/partial/torch/
  echo "$kTorch" > .deps/partial/torch/version
  rm -rf .deps/torch
  mv .deps/partial/torch .deps/torch
}

# The PyPI wheel that holds a shared library of NVIDIA's, as LibTorch $kTorch pins them.
wheel_with() {
  case $1 in
    libcudart.so.13) echo nvidia-cuda-runtime==13.0.96 ;;
    libcupti.so.13) echo nvidia-cuda-cupti==13.0.85 ;;
    libcudnn.so.9) echo nvidia-cudnn-cu13==9.19.0.56 ;;
    libnccl.so.2) echo nvidia-nccl-cu13==2.28.9 ;;
    libcusparseLt.so.0) echo nvidia-cusparselt-cu13==0.8.0 ;;
    libnvshmem_host.so.3) echo nvidia-nvshmem-cu13==3.4.5 ;;
    libcufile.so.0) echo nvidia-cufile==1.15.1.6 ;;
    libcublas.so.13 | libcublasLt.so.13) echo nvidia-cublas==13.1.0.3 ;;
    libcufft.so.12) echo nvidia-cufft==12.0.0.61 ;;
    libcurand.so.10) echo nvidia-curand==10.4.0.35 ;;
    libcusparse.so.12) echo nvidia-cusparse==12.6.3.3 ;;
    libnvJitLink.so.13) echo nvidia-nvjitlink==13.0.88 ;;
  esac
}

missing_libraries() { ldd "$@" | awk '/=> not found/ && !/libtorch|libc10/ { print $1 }' | sort -u; }

# LibTorch's own search path leads to .deps/nvidia/*/lib; what neither that nor a CUDA toolkit holds is fetched there.
install_nvidia_libraries() {
  local loaded=(.deps/torch/lib/libtorch_cpu.so) library wheel
  [[ -n $nvcc && -e .deps/torch/lib/libtorch_cuda.so ]] && loaded+=(.deps/torch/lib/libtorch_cuda.so)
  while library=$(missing_libraries "${loaded[@]}" | head -n 1) && [[ -n $library ]]; do
    wheel=$(wheel_with "$library")
    [[ -n $wheel ]] || fail "LibTorch $kTorch needs $library, which is not on this machine: install the CUDA 13.0 toolkit"
    fetch_wheel "$wheel"
    (cd .deps/partial/content && find nvidia -type f -exec sh -c 'mkdir -p "../../${0%/*}" && mv "$0" "../../$0"' {} \;)
    ! missing_libraries "${loaded[@]}" | grep -qx "$library" || fail "$wheel did not bring $library where LibTorch looks"
  done
  rm -rf .deps/partial
}

# --- Apache Arrow ----------------------------------------------------------------------------------------------------------

# The wheel holds headers and libraries; the tests' Python compares with it too, so that it is installed, not unpacked.
install_arrow() {
  local folder
  [[ -e .deps/arrow/include/arrow/api.h && -e .deps/venv/arrow && $(< .deps/venv/arrow) == "$kArrow" ]] && return
  make_venv
  say "installing Apache Arrow: pyarrow $kArrow"
  rm -f .deps/venv/arrow
  .deps/venv/bin/python -m pip install --disable-pip-version-check -q --no-deps --only-binary=:all: "pyarrow==$kArrow"
  folder=$(cd .deps && ls -d venv/lib/python3*/site-packages/pyarrow)
  ln -sfn "$folder" .deps/arrow
  echo "$kArrow" > .deps/venv/arrow
}

# --- xgrammar --------------------------------------------------------------------------------------------------------------

# Its sources, from the source package: only their C++ half is kept.
install_xgrammar() {
  [[ -e .deps/xgrammar/version && $(< .deps/xgrammar/version) == "$kXgrammar" ]] && return
  make_venv
  say "downloading xgrammar $kXgrammar"
  rm -rf .deps/partial
  mkdir -p .deps/partial/xgrammar
  .deps/venv/bin/python -m pip download --disable-pip-version-check --no-cache-dir -q --no-deps --no-binary xgrammar \
    -d .deps/partial "xgrammar==$kXgrammar" || return 1
  tar -xzf .deps/partial/xgrammar-*.tar.gz -C .deps/partial/xgrammar --strip-components=1 --wildcards --no-wildcards-match-slash \
    '*/cpp' '*/include' '*/3rdparty/picojson' '*/3rdparty/dlpack/include' '*/LICENSE' '*/NOTICE' || return 1
  echo "$kXgrammar" > .deps/partial/xgrammar/version
  rm -rf .deps/xgrammar
  mv .deps/partial/xgrammar .deps/xgrammar
  rm -rf .deps/partial
}

# --- All of it -------------------------------------------------------------------------------------------------------------

with_tests=
for argument in "$@"; do
  case $argument in
    --tests) with_tests=yes ;;
    -DTorch_DIR=*) Torch_DIR=${argument#*=} ;;
    -DCMAKE_PREFIX_PATH=*) CMAKE_PREFIX_PATH=${argument#*=} ;;
    -D*) ;;
    *) fail "unknown argument $argument; known: --tests, and cmake's -D options" ;;
  esac
done
Torch_DIR=${Torch_DIR:-} CMAKE_PREFIX_PATH=${CMAKE_PREFIX_PATH:-}

mkdir -p .deps
install_packages
exec 9> .deps/lock
flock 9  # two set-ups at once would unpack into each other

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
torch=$(given_torch)
if [[ -z $torch ]]; then
  install_torch
  install_nvidia_libraries
fi
install_arrow
install_xgrammar || say "xgrammar could not be installed; roll serve will refuse response_format"
if [[ -n $with_tests ]]; then
  install_browser
  install_test_tools
  install_test_wheels
fi
say "LibTorch: ${torch:-.deps/torch ($kTorch)}; CUDA compiler: ${nvcc:-none, so the program is built for the CPU only}"
