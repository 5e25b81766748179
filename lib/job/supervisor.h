// Supervises a job from the process that started mpirun, or the only rank of a restartable job. Until the job's end it
// passes signals on, filters mpirun's standard error, and makes sure that mpirun ends after a failure: by itself,
// mpirun would wait for ever for an unreachable host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/mpirun_output.h"
#include "process/stop.h"

namespace roll {

struct JobEnd {
  int status = 0;                          // wait() status of the command
  std::optional<StopKind> stop_request{};  // the first signal that asked this process to stop
  bool stopped_twice = false;              // Ctrl-C or SIGTERM came a second time
  bool was_killed = false;                 // the command had to be killed
  bool started_late = false;               // ended because the ranks did not start in time
  double failed_s = 0;                     // time of the first sign of failure, or of the end; wall clock
  MpirunOutput output{};
};

/// Runs `command` (mpirun's, or the only rank's) to its end, then ends or removes its leftovers on this host. The first
/// stop request is passed on as a signal that mpirun forwards to the ranks (process/stop.h), without a time limit; the
/// second makes mpirun kill them. The ranks must report_start() within `start_limit_s`. If this process is killed,
/// `command` gets `orphan_signal`. SystemError: fork fails.
JobEnd supervise(const std::vector<std::string>& command, double start_limit_s, int orphan_signal);

}  // namespace roll
