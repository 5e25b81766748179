#include "job/world.h"

#include <algorithm>

#include "base/env.h"
#include "base/error.h"

namespace roll {

namespace {

int count_or(const std::string& name, int fallback) {
  return static_cast<int>(env_count(name).value_or(fallback));
}

World check_world(World world, const char* rank_name, const char* size_name) {
  if (world.size < 1 || world.rank >= world.size)
    throw user_error(
        "environment: {} = {} with {} = {}: a rank must be below the number of ranks; correct or unset both", rank_name,
        world.rank, size_name, world.size);
  world.local_size = std::clamp(world.local_size, 1, world.size);
  return world;
}

World from_mpirun() {
  World world{.launcher = Launcher::kMpi,
              .rank = count_or("OMPI_COMM_WORLD_RANK", 0),
              .size = count_or("OMPI_COMM_WORLD_SIZE", 1),
              .local_rank = count_or("OMPI_COMM_WORLD_LOCAL_RANK", 0),
              .local_size = count_or("OMPI_COMM_WORLD_LOCAL_SIZE", 1)};
  return check_world(world, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
}

World from_pmi() {
  World world{.launcher = Launcher::kMpi, .rank = count_or("PMI_RANK", 0), .size = count_or("PMI_SIZE", 1)};
  world.local_rank = count_or("MPI_LOCALRANKID", count_or("SLURM_LOCALID", world.rank));
  world.local_size = count_or("MPI_LOCALNRANKS", world.size);
  return check_world(world, "PMI_RANK", "PMI_SIZE");
}

/// Reads all four variables; the error tells a user who sets one by hand which one is missing.
World from_variables(int rank, int size) {
  World world{.launcher = Launcher::kVariables, .rank = rank, .size = size};
  world.local_rank = count_or("LOCAL_RANK", count_or("SLURM_LOCALID", rank));
  world.local_size = count_or("LOCAL_WORLD_SIZE", size);
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT"})
    if (env(name).value_or("").empty())
      throw user_error("environment: RANK and WORLD_SIZE are set but {} is not; set it, or unset RANK and WORLD_SIZE",
                       name);
  world.one_host = env_count("LOCAL_WORLD_SIZE") == size;
  world.job_secret = env("ROLL_JOB_SECRET").value_or("");
  world.master_address = *env("MASTER_ADDR");
  world.master_port = static_cast<int>(*env_count("MASTER_PORT"));
  if (world.master_port < 1 || world.master_port > 65535)
    throw user_error("environment variable MASTER_PORT = {}: must be 1 to 65535", world.master_port);
  return check_world(world, "RANK", "WORLD_SIZE");
}

/// Reads a task of an srun step. Without PMI or a master's address, MPI would start with size 1 in every task, and each
/// would train alone.
World from_srun() {
  const int rank = count_or("SLURM_PROCID", 0);
  const int size = count_or("SLURM_STEP_NUM_TASKS", 1);
  if (env("PMIX_RANK")) {
    const int nodes = std::max(1, count_or("SLURM_STEP_NUM_NODES", 1));
    World world{.launcher = Launcher::kMpi, .rank = rank, .size = size};
    world.local_rank = count_or("SLURM_LOCALID", 0);
    world.local_size = (size + nodes - 1) / nodes;
    return check_world(world, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
  }
  if (!env("MASTER_ADDR"))
    throw user_error(
        "srun started {} tasks that cannot find each other: use srun --mpi=pmix, or set MASTER_ADDR and MASTER_PORT",
        size);
  return from_variables(rank, size);
}

}  // namespace

World detect_world() {
  if (env("OMPI_COMM_WORLD_SIZE")) return from_mpirun();
  if (env("PMI_SIZE") && env("PMI_RANK")) return from_pmi();
  if (env("RANK") && count_or("WORLD_SIZE", 1) > 1)
    return from_variables(count_or("RANK", 0), count_or("WORLD_SIZE", 1));
  if (env("SLURM_STEP_ID") && count_or("SLURM_STEP_NUM_TASKS", 1) > 1) return from_srun();
  return {};
}

}  // namespace roll
