// How many processes a run has, how this one was started, and starting the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace roll {

enum class Launcher {
  kNone,
  kMpi /* mpirun, or srun with PMI */,
  kVariables /* RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT */
};

/// This process among the others, as its environment tells.
struct World {
  Launcher launcher = Launcher::kNone;
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // among the processes of this host: which GPU is ours
  int local_size = 1;
  std::string master_address;  // kVariables
  int master_port = 0;
};

/// Reads mpirun's, srun's or torchrun-style variables. UserError: incomplete or contradictory ones.
World detect_world();

/// CPU cores this process may use (its affinity mask, and the quota of its control group).
int num_usable_cores();

/// Splits the host's cores over its ranks for torch, unless OMP_NUM_THREADS says otherwise. Returns threads per rank.
int set_threads_per_rank(const World& world);

/// mpirun's command line for `num_ranks` processes of `program args...` on this host.
std::vector<std::string> mpirun_command(int num_ranks, const std::string& program,
                                        const std::vector<std::string>& args);

/// With one rank, or when already started by a launcher: returns. Else this process becomes mpirun, which starts
/// `num_ranks` of this very command; does not return. `args` are argv[1..]: they may keep their -n, for a started
/// process whose launcher started another number gets the UserError that says so. SystemError: no mpirun.
void start_ranks(int num_ranks, const std::vector<std::string>& args);

/// Lines for --version: LibTorch, CUDA, NCCL, MPI with their versions, or "none".
std::vector<std::string> version_lines();

}  // namespace roll
