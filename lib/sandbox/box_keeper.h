// Limits the total memory of a program in a sandbox, for boxed_program.h: ten times a second, adds up the resident
// memory of all its processes and their files in /dev/shm. The kernel itself limits only single processes, unless there
// is a control group.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <thread>

#include "base/descriptor.h"

namespace roll {

/// Watches one program in a thread, which ends with this object.
class BoxKeeper {
 public:
  /// `root`: pid of process 1 of the program's PID namespace; it must not be reaped before this object is destroyed.
  /// Kills `root`, which ends all its descendants, if they use more than `max_mb` MiB together, and writes the reason
  /// to `errors`, the write end of the program's standard error.
  BoxKeeper(pid_t root, int64_t max_mb, Descriptor errors);

 private:
  Descriptor errors_;
  std::jthread thread_;
};

/// Returns the resident memory of all descendants of process `root` together, in MiB; a page that several processes
/// share counts once for each.
int64_t resident_mb_below(pid_t root);

}  // namespace roll
