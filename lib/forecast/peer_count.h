// Counts the TCP connections that a rank keeps open, for simulation.h.
#pragma once

#include "forecast/simulated_world.h"

namespace roll {

/// Returns the connections of the rank with most, over sockets: one to each other rank of each of its groups, those of
/// dist/mesh.h and of weight sync.
int64_t most_sockets(const Config& config, int64_t num_ranks);

}  // namespace roll
