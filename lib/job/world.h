// Detects by environment variables how many processes (ranks) a job has, and how this one was started.
#pragma once

#include <string>

namespace roll {

/// The program that started this process as a rank.
enum class Launcher {
  kNone,       // none: the user started it, or it is the only rank
  kMpi,        // mpirun, or srun with PMI
  kVariables,  // RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (torchrun), or srun with the last two
};

/// This process's place among the ranks of its job.
struct World {
  Launcher launcher = Launcher::kNone;
  int rank = 0;
  int size = 1;        // number of ranks, this one included
  int local_rank = 0;  // index among the ranks of this host; selects the GPU
  int local_size = 1;  // number of ranks on this host

  // Only for Launcher::kVariables.
  std::string master_address = {};  // MASTER_ADDR: host at which the ranks meet
  int master_port = 0;              // MASTER_PORT
  bool one_host = false;            // true if LOCAL_WORLD_SIZE says that all ranks are on this host
  std::string job_secret = {};      // ROLL_JOB_SECRET, which all ranks of the job must share; "" if unset
};

/// Reads the variables of mpirun, srun or torchrun; returns a world of one rank if there are none. Throws UserError if
/// they are incomplete or contradictory.
World detect_world();

}  // namespace roll
