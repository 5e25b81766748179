// Starts the processes of a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace roll {

/// Description of the job to start.
struct Launch {
  int num_ranks = 1;
  std::string hostfile = {};                  // "": all ranks on this host (format: hosts.h)
  std::vector<std::string> mpirun_args = {};  // extra arguments for mpirun, e.g. which network to use
  std::string program = {};                   // the same absolute path on every host; "": this program
  std::vector<std::string> args = {};
  double start_limit_s = 1800;  // until all ranks have met; then the job is ended
  int max_restarts = 0;         // restarts of a job whose rank died or hung
};

/// Returns the command: mpirun's, or the program's own for one rank. On several hosts, ranks fill the hosts in the
/// file's order, and variables that matter to a rank (OMP_*, NCCL_*, HF_*, LD_LIBRARY_PATH, ...) are passed on. The
/// command is complete: pasted into a shell, it does the same.
std::vector<std::string> launch_command(const Launch& launch);

/// Runs and supervises the job (supervisor.h), restarts it after faults (restart.h), and returns its exit code. Returns
/// nullopt if this process must continue itself: one rank, or a launcher has started us already. `args` may keep -n.
/// UserError: the launcher started another number than `num_ranks`. SystemError: no mpirun, or a rank was killed (with
/// rank and host). Stopped: before the ranks listened, or on a second request. Call it before torch or MPI is used: it
/// forks.
std::optional<int> run_ranks(const Launch& launch);

/// Returns true if a supervisor started this rank.
bool has_supervisor();

/// Returns lines for --version: LibTorch, CUDA, NCCL and MPI with their versions, or "none".
std::vector<std::string> version_lines();

}  // namespace roll
