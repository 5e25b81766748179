// Starts the program again with a short spin of idle threads (job/threads.h), unless the environment settles that.
#include <linux/limits.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <vector>

#include "job/threads.h"

namespace {

/// Happens once: the new environment settles it. Where it cannot happen, libgomp's default stays.
void start_with_short_spin(int, char** arguments, char** environment) {
  std::vector<char*> variables;
  for (; *environment; ++environment) {
    if (roll::settles_waiting(*environment)) return;
    variables.push_back(*environment);
  }
  variables.insert(variables.end(), {const_cast<char*>(roll::kShortSpin), nullptr});
  const bool through_loader = ::getauxval(AT_BASE) == 0;  // "ld.so roll ...": then exe is the loader
  char program[PATH_MAX] = "";
  if (!through_loader && ::readlink("/proc/self/exe", program, sizeof program - 1) > 0)
    ::execve(program, arguments, variables.data());
}

// The loader calls these before any library's constructors: before libgomp reads the environment, and before LibTorch's
// costly start. The environment comes as an argument, as libc has none yet.
[[gnu::section(".preinit_array"), gnu::used]] void (*before_constructors)(int, char**, char**) = start_with_short_spin;

}  // namespace
