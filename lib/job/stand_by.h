// The process that started mpirun, until the job's end: passes signals on, shows what is worth showing of mpirun's
// standard error, and sees to it that mpirun does end after a failure: it would wait for ever for a host that it cannot
// reach.
#pragma once

#include <string>
#include <vector>

#include "job/mpirun_output.h"

namespace roll {

struct JobEnd {
  int status = 0;        // wait()'s, of mpirun
  int first_signal = 0;  // SIGINT or SIGTERM when this process was asked to end
  bool forced = false;   // mpirun had to be killed
  bool late = false;     // because the ranks did not start in time
  MpirunOutput output;
};

/// Runs `command` (mpirun and its arguments) to its end. The first wish to stop is passed on as a signal that mpirun
/// hands to the ranks (see base/stop.h), the second as one that makes mpirun kill them. The ranks have `start_limit_s`
/// to tell_start(). SystemError: fork.
JobEnd stand_by(const std::vector<std::string>& command, double start_limit_s);

}  // namespace roll
