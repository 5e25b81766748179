// Ends a rank that nothing else would end: when a host is out of reach, MPI calls without a time limit of ours wait for
// ever, MPI_Abort included.
#pragma once

#include <string>

namespace roll {

/// Ends the process if this object lives longer than `limit_s` seconds: writes `line` to standard error, gives the
/// other ranks 1.5 s to write theirs, which shows who waits for whom, ends Open MPI's daemon on this host if
/// run_ranks() (launch.h) started the job from another host, and exits with `exit_code`. Only one may exist at a time.
/// Uses SIGALRM.
class Deadline {
 public:
  Deadline(double limit_s, const std::string& line, int exit_code);
  /// Cancels the limit: the process goes on.
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
};

/// Ends the process like a Deadline, but cannot be cancelled and gives the other ranks no time: destructors and exit
/// handlers, too, have only `limit_s` seconds from now. Returns at once. An empty `line` is not written.
void end_within(double limit_s, const std::string& line, int exit_code);

/// Starts a background process that ends Open MPI's daemon on this host, if it still runs after `grace_s` seconds: the
/// daemon waits for orders from mpirun, which may be out of reach. Does nothing if run_ranks() did not start the job,
/// or on mpirun's own host, where supervisor.h does that. Called just before this rank ends.
void end_daemon_after(double grace_s);

}  // namespace roll
