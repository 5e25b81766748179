// What it takes to bring the trainer's weights to a sampler that cannot read them (model/weight_transfer.h).
#pragma once

#include "preview/simulated_world.h"

namespace roll {

/// Adds phase model_update; nothing where both read the same tensors. `element`: bytes of a weight.
void add_weight_traffic(TrafficForecast& forecast, const SimulatedWorld& world, const RoleView& actor,
                        const RoleView& sampler, int64_t element);

}  // namespace roll
