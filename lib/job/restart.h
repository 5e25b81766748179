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
  std::string reason;    // why the job failed, in words
  double failed_s = 0;   // time at which the failure was seen, in seconds since 1970-01-01 UTC
};

/// Sets the variables for this process and the ranks that it starts later. Called by the supervisor. Throws SystemError
/// if setenv fails.
void export_restart(const Restart& restart);

/// Returns a line for the log, such as "restart 1 of 3: rank 1 on host h2 was killed by signal 9 (Killed); working
/// again after 12.3 s". The time is counted from the failure to this call. Returns "" if the job was not restarted.
/// Ranks call it when their first step begins.
std::string restart_note();

}  // namespace roll
