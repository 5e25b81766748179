// How many processes a run has and how this one was started.
#pragma once

#include <string>

namespace roll {

enum class Launcher {
  kNone,
  kMpi,        // mpirun, or srun with PMI
  kVariables,  // RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT (torchrun), or srun with the last two
};

/// This process among the others, as its environment has it.
struct World {
  Launcher launcher = Launcher::kNone;
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // among the processes of this host: which GPU is ours
  int local_size = 1;
  std::string master_address = {};  // kVariables
  int master_port = 0;
  bool one_host = false;        // kVariables: LOCAL_WORLD_SIZE says that all ranks are on this host
  std::string job_secret = {};  // kVariables: ROLL_JOB_SECRET, or ""
};

/// Reads mpirun's, srun's or torchrun-style variables. UserError: incomplete or contradictory ones.
World detect_world();

}  // namespace roll
