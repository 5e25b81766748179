// Passes the reason of a restart from the supervisor to the restarted ranks, by environment variables:
//   ROLL_RESTART            number of restarts so far; if set, ranks resume from the last checkpoint
//   ROLL_RESTART_REASON     for people
//   ROLL_RESTART_FAILED_MS  time at which the failure was seen, in ms since 1970-01-01 UTC
#pragma once

#include <string>

namespace roll {

struct Restart {
  int number = 0;        // the first restart is 1
  int max_restarts = 0;  // the configured maximum
  std::string reason;
  double failed_s = 0;  // time at which the failure was seen, wall clock
};

/// Sets the variables for this process and later children. SystemError: setenv fails.
void export_restart(const Restart& restart);

/// Returns "restart 1 of 3: rank 1 on host h2 was killed by signal 9 (Killed); working again after 12.3 s"; "" if the
/// job was not restarted. The time lasts from the failure to this call: for the log, at the start of the first step.
std::string restart_note();

}  // namespace roll
