// What many ranks say of one thing, as one.
#pragma once

#include "dist/communicator.h"
#include "track/metrics.h"

namespace roll {

/// This rank's metrics merged with those of all ranks, in rank order. **Collective**.
Metrics merge_over_ranks(const Metrics& mine, Communicator& ranks);

}  // namespace roll
