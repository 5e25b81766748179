// The end of a process that nothing else would end: calls into MPI that no time limit of ours reaches wait for ever
// when a host is out of reach, MPI_Abort among them.
#pragma once

#include <string>

namespace roll {

/// While it lives, this process has `limit_s` left. Then it writes `line` to standard error, gives other ranks time to
/// write theirs (which shows who waits and who is waited for), ends Open MPI's daemon on this host where run_ranks
/// began the job on another one, and ends with `exit_code`. One at a time. Uses SIGALRM.
class Deadline {
 public:
  Deadline(double limit_s, const std::string& line, int exit_code);
  /// Takes the limit back.
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
};

/// A Deadline that nothing takes back: destructors and exit handlers, too, have only that long. Other ranks get no
/// time.
void end_within(double limit_s, const std::string& line, int exit_code);

/// Leaves a process behind that ends Open MPI's daemon of this host when it outlives us by `grace_s`: it waits for
/// orders from mpirun, which can perhaps not reach it. Nothing in jobs that others started, or on mpirun's own host
/// (supervisor.h).
void end_daemon_after(double grace_s);

}  // namespace roll
