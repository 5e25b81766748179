// Metrics of many ranks as one.
#pragma once

#include "dist/communicator.h"
#include "dist/mesh.h"
#include "track/metrics.h"

namespace roll {

/// This rank's metrics merged with those of all ranks, in rank order. **Collective**.
Metrics merge_over_ranks(const Metrics& mine, Communicator& ranks);

/// What all ranks of a role know, on all ranks of its world. **Collective** over that.
Metrics broadcast_metrics(RoleMesh& role, const Metrics& metrics);

}  // namespace roll
