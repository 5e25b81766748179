// The supervisor of a job is the process that started mpirun, or the only rank of a job that may be restarted. Until
// the job's end it passes signals on, shows what is worth showing of mpirun's standard error, and sees to it that
// mpirun does end after a failure: mpirun alone would wait for ever for a host that it cannot reach.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/mpirun_output.h"
#include "process/stop.h"

namespace roll {

struct JobEnd {
  int status = 0;                  // wait()'s, of the command
  std::optional<StopKind> wish{};  // the first signal that asked this process for an end
  bool insisted = false;           // Ctrl-C or SIGTERM came once more
  bool forced = false;             // the command had to be killed
  bool late = false;               // because the ranks did not start in time
  double failed_s = 0;             // when a failure was first heard of, or the end; wall clock
  MpirunOutput output{};
};

/// Runs `command` (mpirun's, or the only rank's) to its end, and ends, or removes, what it leaves behind on this host.
/// The first wish to stop is passed on as a signal that mpirun hands to the ranks (see process/stop.h), and then
/// nothing hurries them; the second makes mpirun kill them. The ranks have `start_limit_s` to report_start(). When this
/// process is killed, `command` gets `orphan_signal`. SystemError: fork.
JobEnd supervise(const std::vector<std::string>& command, double start_limit_s, int orphan_signal);

}  // namespace roll
