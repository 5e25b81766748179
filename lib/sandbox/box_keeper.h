// The memory of a program, of all that it starts and of their files in /dev/shm, looked at ten times a second: limits
// of the kernel's are each process's own, where there is no control group.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <thread>

#include "base/descriptor.h"

namespace roll {

class BoxKeeper {
 public:
  /// Kills `root`, the first process of a namespace, when those below it have more than `most_mb` resident and in
  /// its /dev/shm, and says so to `errors`. It must not be reaped before this ends.
  BoxKeeper(pid_t root, int64_t most_mb, Descriptor errors);

 private:
  Descriptor errors_;
  std::jthread thread_;
};

/// MiB that the processes below `root` have resident; what several share counts for each.
int64_t resident_mb_below(pid_t root);

}  // namespace roll
