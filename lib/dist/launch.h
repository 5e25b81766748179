// How many processes a run has, how this one was started, and starting the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace roll {

enum class Launcher {
  kNone,
  kMpi,        // mpirun, or srun with PMI
  kVariables,  // RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT (torchrun), or srun with the last two
};

/// This process among the others, as its environment tells.
struct World {
  Launcher launcher = Launcher::kNone;
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // among the processes of this host: which GPU is ours
  int local_size = 1;
  std::string master_address = {};  // kVariables
  int master_port = 0;
};

/// Reads mpirun's, srun's or torchrun-style variables. UserError: incomplete or contradictory ones.
World detect_world();

/// CPU cores this process may use: its affinity mask, cut by the quota of its control group; at least 1.
int num_usable_cores();

/// Splits the host's cores over its ranks for torch, unless OMP_NUM_THREADS says otherwise. Returns threads per rank.
int set_threads_per_rank(const World& world);

/// What to start.
struct Launch {
  int num_ranks = 1;
  std::string hostfile = {};                  // "": all ranks on this host (see hosts.h for the format)
  std::vector<std::string> mpirun_args = {};  // more arguments for mpirun, e.g. which network to use
  std::string program = {};                   // the same absolute path on every host; "": this very program
  std::vector<std::string> args = {};
  double start_limit_s = 1800;  // until all ranks have met; then the job is given up
};

/// The command that runs it: mpirun's, or the program's own where there is one rank. On several hosts ranks fill the
/// hosts in the file's order, and the variables that matter to a rank (OMP_*, NCCL_*, HF_*, LD_LIBRARY_PATH and the
/// like) are passed on. Complete in itself: pasted into a shell it runs the same.
std::vector<std::string> launch_command(const Launch& launch);

/// nullopt: go on in this process (one rank, or a launcher has started us already). Else the job ran: mpirun with
/// launch_command, and this process stood by (see stand_by.h); the value is the job's exit code. `args` may keep their
/// -n: a process whose launcher started another number than `num_ranks` gets the UserError that says so. SystemError:
/// no mpirun; a rank was killed (with rank and host). Call before torch or MPI is used: it forks.
std::optional<int> run_ranks(const Launch& launch);

/// Lines for --version: LibTorch, CUDA, NCCL, MPI with their versions, or "none".
std::vector<std::string> version_lines();

}  // namespace roll
