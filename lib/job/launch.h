// Starts the ranks (processes) of a job by mpirun, supervises them and restarts them after faults. Used by run_job() in
// app/job.h and by `roll doctor`.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace roll {

/// Description of the job to start.
struct Launch {
  int num_ranks = 1;
  std::string hostfile = {};                  // path of a hostfile (hosts.h); "" for all ranks on this host
  std::vector<std::string> mpirun_args = {};  // extra arguments for mpirun, e.g. which network to use
  std::string program = {};                   // the same absolute path on every host; "": this program
  std::vector<std::string> args = {};         // arguments of the program, the same for every rank
  double start_limit_s = 1800;                // if the ranks have not all met after this time, the job is ended
  int max_restarts = 0;  // how often a job is started again after a rank died or hung; only if its ranks had met once
};

/// Returns the command line that starts the job: mpirun's, or the program's own for one rank on this host. On several
/// hosts, ranks fill the hosts in the file's order, and variables that matter to a rank (OMP_*, NCCL_*, HF_*,
/// LD_LIBRARY_PATH, ...) are passed on. The command works in a shell, too, but is not supervised there.
std::vector<std::string> launch_command(const Launch& launch);

/// Runs the job to its end (supervisor.h), with restarts after faults (restart.h), and returns the job's exit code.
/// Returns nullopt if this process is itself a rank and must go on: a launcher started it, or the job has one rank on
/// this host and needs no restarts. So launch.args may be this process's own arguments, with -n. It forks: call it
/// before torch or MPI is used. Throws UserError if the launcher started another number of ranks than launch.num_ranks.
/// Throws SystemError if mpirun is missing, a rank was killed or hung, a host was lost, or the ranks did not start in
/// time. Throws Stopped if a stop signal came before the ranks caught signals, or a second one came.
std::optional<int> run_ranks(const Launch& launch);

/// Returns true if this process is a rank of a job that run_ranks() started and supervises.
bool has_supervisor();

/// Returns lines for --version: LibTorch, CUDA, NCCL and MPI with their versions, or "none".
std::vector<std::string> version_lines();

}  // namespace roll
