// Counts the TCP connections that a rank keeps open, for simulation.h.
#pragma once

#include "forecast/simulated_world.h"

namespace roll {

/// Returns the largest number of connections that a rank of `config`'s world of `num_ranks` ranks keeps open, if all
/// ranks communicate over sockets. A rank has one connection per other rank in each of its communicators: the world,
/// the communicators of dist/mesh.h, and the one that transfers weights to the sampler.
int64_t most_sockets(const Config& config, int64_t num_ranks);

}  // namespace roll
