// Ends a process that nothing else would end: MPI calls without a time limit of ours, MPI_Abort included, wait for ever
// when a host is out of reach.
#pragma once

#include <string>

namespace roll {

/// While this object lives, the process has `limit_s` left. Then it writes `line` to standard error and gives other
/// ranks time to write theirs, which shows who waits for whom. It ends Open MPI's daemon on this host, if run_ranks
/// started the job on another one, and exits with `exit_code`. One at a time. Uses SIGALRM.
class Deadline {
 public:
  Deadline(double limit_s, const std::string& line, int exit_code);
  /// Cancels the limit.
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
};

/// Sets a Deadline that cannot be cancelled: destructors and exit handlers have only that long, too. Other ranks get no
/// time.
void end_within(double limit_s, const std::string& line, int exit_code);

/// Leaves a process that ends Open MPI's daemon of this host if that outlives us by `grace_s`: the daemon waits for
/// orders from mpirun, which may be out of reach. Does nothing in jobs that others started, or on mpirun's own host
/// (supervisor.h).
void end_daemon_after(double grace_s);

}  // namespace roll
