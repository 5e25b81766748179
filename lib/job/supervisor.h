// Supervises a job in the process that starts it; used by run_ranks() (launch.h). Starts mpirun (or the only rank of a
// job with restarts), passes signals on until it ends, and filters its standard error. Kills it if it has not ended 8 s
// after a failure: by itself, mpirun would wait for ever for an unreachable host.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "job/mpirun_output.h"
#include "process/stop.h"

namespace roll {

/// How a job ended.
struct JobEnd {
  pid_t process = -1;                      // the command's process id
  int status = 0;                          // the command's status, as waitpid(2) returns it
  std::optional<StopKind> stop_request{};  // the first signal that asked this process to stop; nullopt if none came
  bool stopped_twice = false;              // Ctrl-C or SIGTERM came a second time
  bool was_killed = false;                 // the command had to be killed
  bool started_late = false;               // ended because the ranks did not start in time
  double failed_s = 0;                     // first sign of failure, or the end; in seconds since 1970-01-01 UTC
  MpirunOutput output{};                   // facts from standard error
};

/// Runs `command` (mpirun's, or the only rank's) to its end, then kills all remaining children of this process. Passes
/// the first stop signal on to the ranks as a stand-in signal (process/stop.h); they may take as long as they need.
/// After a second Ctrl-C or SIGTERM mpirun kills them. Rank 0 must call report_start() (mpirun_output.h) within
/// `start_limit_s` seconds, else the job is ended. If this process is killed, the kernel sends `orphan_signal` to
/// `command`. Throws SystemError if fork fails.
JobEnd supervise(const std::vector<std::string>& command, double start_limit_s, int orphan_signal);

}  // namespace roll
