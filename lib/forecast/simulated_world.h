// Simulated world of many ranks, and the smaller planned one that stands for it.
#pragma once

#include "forecast/planned_ranks.h"
#include "settings/config.h"
#include "settings/memory_estimate.h"

namespace roll {

struct SimulatedWorld {
  Config planned, requested;  // equal for a small world
  RoleShapes models;
  PlannedWorld ranks;
};

}  // namespace roll
