// What ranks send each other, as metrics of a step.
#pragma once

#include <string>

#include "dist/traffic.h"
#include "optim/update_trace.h"
#include "track/metrics.h"

namespace roll {

/// "comm/<phase>/<group>/<collective>_bytes" that this rank sent since the last call; nothing where nothing was sent.
void add_traffic_metrics(Traffic& traffic, Metrics& metrics);

/// comm/<role>/reduce_s: seconds that the gradients' collectives of an update took; reduce_hidden_s: of those, beside
/// backward. Summed over the updates of a step.
void add_reduction_metrics(const std::string& role, const UpdateTrace& update, Metrics& metrics);

}  // namespace roll
