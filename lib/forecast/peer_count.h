// Counts the TCP connections that a rank keeps open, for simulation.h.
#pragma once

#include "forecast/simulated_world.h"

namespace roll {

/// Returns the largest number of connections of a rank if all ranks communicate over sockets. A rank has one to each
/// other rank of each of its groups: the world, those of dist/mesh.h, and that of the transfer of weights to the
/// sampler.
int64_t most_sockets(const Config& config, int64_t num_ranks);

}  // namespace roll
