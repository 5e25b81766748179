// Which processes another one has started, as /proc shows it.
#pragma once

#include <sys/types.h>

#include <vector>

namespace roll {

/// The processes below `root`, however deep, that still run.
std::vector<pid_t> processes_below(pid_t root);

}  // namespace roll
