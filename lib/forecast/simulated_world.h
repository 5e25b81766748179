// Input of a simulated step: configuration, models and ranks of the requested world, and of the smaller planned world
// that stands for it (planned_ranks.h).
#pragma once

#include "forecast/planned_ranks.h"
#include "settings/config.h"
#include "settings/memory_estimate.h"

namespace roll {

struct SimulatedWorld {
  Config planned, requested;  // scaled to the two worlds' numbers of ranks; of equal size for a small world
  RoleShapes models;          // shape of each role's model
  PlannedWorld ranks;
};

}  // namespace roll
