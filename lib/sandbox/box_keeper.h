// Limits the total memory of a program in a sandbox (boxed_program.h): polls ten times a second the resident memory of
// all its processes plus their files in /dev/shm. Without a control group, the kernel limits only single processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <thread>

#include "base/descriptor.h"

namespace roll {

class BoxKeeper {
 public:
  /// Kills `root`, process 1 of a PID namespace, if its descendants use more than `max_mb` MiB in resident memory and
  /// /dev/shm, and writes the reason to `errors`. `root` must not be reaped before this object is destroyed.
  BoxKeeper(pid_t root, int64_t max_mb, Descriptor errors);

 private:
  Descriptor errors_;
  std::jthread thread_;
};

/// Returns the resident memory of all descendants of `root` in MiB; shared pages count once per process.
int64_t resident_mb_below(pid_t root);

}  // namespace roll
