// What the supervisor of a job tells the ranks that it starts again. They find it in their environment:
//   ROLL_RESTART            how many times the job was started again; whoever sees it goes on from the last checkpoint
//   ROLL_RESTART_REASON     for people
//   ROLL_RESTART_FAILED_MS  when the failure was seen, in ms since 1970-01-01 UTC
#pragma once

#include <string>

namespace roll {

struct Restart {
  int number = 0;  // the first restart is 1
  int most = 0;    // max_restarts
  std::string reason;
  double failed_s = 0;  // when the failure was seen, wall clock
};

/// Puts it into the environment of this process and of its later children. SystemError.
void export_restart(const Restart& restart);

/// "restart 1 of 3: rank 1 on host h2 was killed by signal 9 (Killed); working again after 12.3 s", "" in a job that
/// was not started again. The time is from the failure's notice to this call: for the log, where the first step begins.
std::string restart_note();

}  // namespace roll
