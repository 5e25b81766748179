// Merges the metrics of many ranks, at the end of a step.
#pragma once

#include "dist/communicator.h"
#include "dist/mesh.h"
#include "track/metrics.h"

namespace roll {

/// Returns, on every rank, the `local` metrics of all ranks merged in rank order. **Collective**.
Metrics merge_over_ranks(const Metrics& local, Communicator& ranks);

/// Returns, on all ranks of role.world(), the `metrics` that all ranks of the role have; elsewhere `metrics` is
/// ignored.
/// **Collective** over role.world().
Metrics broadcast_metrics(RoleMesh& role, const Metrics& metrics);

}  // namespace roll
