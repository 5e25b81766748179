// Restarts the program with GOMP_SPINCOUNT set, so that idle OpenMP threads spin only briefly (job/threads.h); does
// nothing if the environment already decides it.
#include <linux/limits.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <vector>

#include "job/threads.h"

namespace {

/// Runs execve() once; the new environment stops a second time. If execve() fails, libgomp's default applies.
void start_with_short_spin(int, char** arguments, char** environment) {
  std::vector<char*> variables;
  for (; *environment; ++environment) {
    if (roll::settles_waiting(*environment)) return;
    variables.push_back(*environment);
  }
  variables.insert(variables.end(), {const_cast<char*>(roll::kShortSpin), nullptr});
  const bool through_loader = ::getauxval(AT_BASE) == 0;  // started as "ld.so roll ...": /proc/self/exe is the loader
  char program[PATH_MAX] = "";
  if (!through_loader && ::readlink("/proc/self/exe", program, sizeof program - 1) > 0)
    ::execve(program, arguments, variables.data());
}

// The loader calls .preinit_array before any library constructor: before libgomp reads the environment and before
// LibTorch's slow start. The environment is passed as an argument, as libc is not initialized yet.
[[gnu::section(".preinit_array"), gnu::used]] void (*before_constructors)(int, char**, char**) = start_with_short_spin;

}  // namespace
