// Lists the descendants of a process from /proc.
#pragma once

#include <sys/types.h>

#include <vector>

namespace roll {

/// Returns all descendants of `root` that still run (no zombies).
std::vector<pid_t> processes_below(pid_t root);

}  // namespace roll
