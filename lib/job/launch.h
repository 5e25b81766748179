// Starting the processes of a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace roll {

/// What to start.
struct Launch {
  int num_ranks = 1;
  std::string hostfile = {};                  // "": all ranks on this host (see hosts.h for the format)
  std::vector<std::string> mpirun_args = {};  // more arguments for mpirun, e.g. which network to use
  std::string program = {};                   // the same absolute path on every host; "": this very program
  std::vector<std::string> args = {};
  double start_limit_s = 1800;  // until all ranks have met; then the job is given up
  int max_restarts = 0;         // how often a job whose rank died or hung is started again
};

/// The command that runs it: mpirun's, or the program's own where there is one rank. On several hosts ranks fill the
/// hosts in the file's order, and the variables that matter to a rank (OMP_*, NCCL_*, HF_*, LD_LIBRARY_PATH and the
/// like) are passed on. Complete in itself: pasted into a shell it runs the same.
std::vector<std::string> launch_command(const Launch& launch);

/// nullopt: go on in this process (one rank, or a launcher has started us already). Else the job ran: launch_command,
/// and this process supervised it (see supervisor.h) and started it again after faults (see restart.h), of one rank
/// too; the value is the job's exit code. `args` may keep their -n: a process whose launcher started another number
/// than `num_ranks` gets the UserError that says so. SystemError: no mpirun; a rank was killed (with rank and host).
/// Stopped: before the ranks listened, or insisted on. Call before torch or MPI is used: it forks.
std::optional<int> run_ranks(const Launch& launch);

/// Whether this rank was started by a supervisor.
bool has_supervisor();

/// Lines for --version: LibTorch, CUDA, NCCL, MPI with their versions, or "none".
std::vector<std::string> version_lines();

}  // namespace roll
