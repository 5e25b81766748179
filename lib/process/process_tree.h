// Lists the descendants of a process from /proc, for ChildProcess::kill().
#pragma once

#include <sys/types.h>

#include <vector>

namespace roll {

/// Returns the ids of all descendants of the process `root` that still run, without zombies and `root` itself.
std::vector<pid_t> processes_below(pid_t root);

}  // namespace roll
