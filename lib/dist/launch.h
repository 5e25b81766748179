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

/// mpirun's command line for `num_ranks` processes of `program args...` on this host.
std::vector<std::string> mpirun_command(int num_ranks, const std::string& program,
                                        const std::vector<std::string>& args);

/// nullopt: go on in this process (one rank, or a launcher has started us already). Else the job ran: mpirun with
/// `num_ranks` of this very command, and this process stood by, passing signals on; the value is the job's exit code.
/// `args` are argv[1..] and may keep their -n: a process whose launcher started another number than `num_ranks` gets
/// the UserError that says so. SystemError: no mpirun. Call before torch or MPI is used: it forks.
std::optional<int> run_ranks(int num_ranks, const std::vector<std::string>& args);

/// Lines for --version: LibTorch, CUDA, NCCL, MPI with their versions, or "none".
std::vector<std::string> version_lines();

}  // namespace roll
