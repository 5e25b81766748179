// Detects how many processes a run has, and how this one was started.
#pragma once

#include <string>

namespace roll {

enum class Launcher {
  kNone,
  kMpi,        // mpirun, or srun with PMI
  kVariables,  // RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (torchrun), or srun with the last two
};

/// This process among the others, by its environment.
struct World {
  Launcher launcher = Launcher::kNone;
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // among this host's processes; selects the GPU
  int local_size = 1;
  std::string master_address = {};  // kVariables
  int master_port = 0;
  bool one_host = false;        // kVariables: LOCAL_WORLD_SIZE equals the number of ranks
  std::string job_secret = {};  // kVariables: ROLL_JOB_SECRET, or ""
};

/// Reads the variables of mpirun, srun or torchrun. UserError: they are incomplete or contradictory.
World detect_world();

}  // namespace roll
