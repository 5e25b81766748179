// Ends this rank's process after a time limit, also while it waits in MPI: if a host is out of reach, MPI calls such as
// MPI_Abort never return. Used by app/job.cpp and ending.cpp.
#pragma once

#include <string>

namespace roll {

/// Ends the process if this object lives longer than `limit_s` seconds. A handler of SIGALRM writes `line` (at most
/// 1023 bytes) to standard error, waits 1.5 s, and exits with `exit_code`. In the 1.5 s other ranks can write their
/// lines, which show who waits for whom. If run_ranks() (launch.h) started the job from another host, the handler also
/// ends Open MPI's daemon on this host. Only one Deadline may exist at a time.
class Deadline {
 public:
  Deadline(double limit_s, const std::string& line, int exit_code);
  /// Cancels the limit: the process goes on.
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
};

/// Ends the process like a Deadline `limit_s` seconds from now, even if destructors or exit handlers still run, but
/// without the wait of 1.5 s. Returns at once. An empty `line` is not written. Call it while no Deadline exists: its
/// destructor would cancel this limit, too.
void end_within(double limit_s, const std::string& line, int exit_code);

/// Starts a background process that ends Open MPI's daemon on this host, if the daemon still runs after `grace_s`
/// seconds. The daemon waits for orders from mpirun, which may be out of reach. Does nothing if run_ranks() did not
/// start the job, or on mpirun's own host, where supervisor.h does that. Called just before this rank ends.
void end_daemon_after(double grace_s);

}  // namespace roll
