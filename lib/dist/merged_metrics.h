// Merges the metrics of many ranks.
#pragma once

#include "dist/communicator.h"
#include "dist/mesh.h"
#include "track/metrics.h"

namespace roll {

/// Returns the metrics of all ranks merged in rank order. **Collective**.
Metrics merge_over_ranks(const Metrics& local, Communicator& ranks);

/// Copies metrics that all ranks of a role have to all ranks of its world. **Collective** over that world.
Metrics broadcast_metrics(RoleMesh& role, const Metrics& metrics);

}  // namespace roll
