// Merges the metrics of many ranks at the end of a step, and shares them.
#pragma once

#include "dist/communicator.h"
#include "dist/mesh.h"
#include "track/metrics.h"

namespace roll {

/// Returns, on every rank, the `local` metrics of all ranks merged in rank order. **Collective** over `ranks`.
Metrics merge_over_ranks(const Metrics& local, Communicator& ranks);

/// Returns on all ranks of role.world() the `metrics` of the role's ranks, where they must be equal; other ranks'
/// `metrics` are ignored. **Collective** over role.world().
Metrics broadcast_metrics(RoleMesh& role, const Metrics& metrics);

}  // namespace roll
