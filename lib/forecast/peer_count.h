// How many TCP connections a rank keeps open.
#pragma once

#include "forecast/simulated_world.h"

namespace roll {

/// Over sockets: one to each other rank of each of its groups, which are those of dist/mesh.h and of the movers of
/// weights. Of the rank that has most.
int64_t most_sockets(const Config& config, int64_t num_ranks);

}  // namespace roll
