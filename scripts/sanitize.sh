#!/usr/bin/env bash
# Builds and runs the unit tests under sanitizers:
#   scripts/sanitize.sh address [Catch2 test specs]   # AddressSanitizer and UndefinedBehaviorSanitizer, all tests
#   scripts/sanitize.sh thread [Catch2 test specs]    # ThreadSanitizer, the tests of what has threads
# Takes 15 minutes on two cores the first time, in build-address or build-thread.
#
# LibTorch, Open MPI and OpenMP are not instrumented. What they do wrong is not seen; what they do right may look wrong:
# memory that they keep for ever (so leaks are not looked for), and, under thread, whatever their own locks or the barriers of
# OpenMP order. Hence one OpenMP thread, and their frames suppressed.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:-}
shift || true
case $kind in
  address)
    flags="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
    specs=("~[mpi]~[gpu]~[slow]~[#launch_test]")  # a test there is killed by a SIGSEGV, which the sanitizer would take
    ;;
  thread)
    flags="-fsanitize=thread"
    specs=("[#child_process_test]" "[#log_test]" "[#stop_test]" "[#communicator_test]~[mpi]~[gpu]" "[#parallel_ops_test]~[mpi]~[gpu]"
           "[#groups_test]~[mpi]~[gpu]" "[#worker_test]" "[#reward_test]" "[#tokenizer_test]" "[#tracker_test]" "[#prompts_test]") ;;
  *) sed -n 2,4p "$0" >&2; exit 2 ;;
esac
(( $# == 0 )) || specs=("$@")

folder=build-$kind
[[ -e $folder/build.ninja ]] || cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=None -DROLL_WITH_CUDA=OFF -DROLL_WERROR=OFF \
  -DCMAKE_CXX_FLAGS="-O1 -g1 -fno-omit-frame-pointer $flags" > /dev/null
ninja -C "$folder" --quiet roll_tests

# Uninstrumented libraries, whose races with themselves are no business of ours.
printf '%s\n' called_from_lib:libtorch_cpu.so called_from_lib:libgomp.so called_from_lib:libmpi.so called_from_lib:libopen-pal.so \
  > "$folder/thread.supp"
export OMP_NUM_THREADS=1 OMPI_MCA_rmaps_base_oversubscribe=1
export ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0 UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS="suppressions=$folder/thread.supp:ignore_noninstrumented_modules=1:second_deadlock_stack=1"
exec "$folder/roll_tests" -\# -r compact "$(IFS=,; echo "${specs[*]}")"
