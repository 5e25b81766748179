// A world of many ranks, and the smaller one whose plans stand for it.
#pragma once

#include "forecast/planned_ranks.h"
#include "settings/config.h"
#include "settings/memory_estimate.h"

namespace roll {

struct SimulatedWorld {
  Config planned, asked;  // equal where the world is small
  RoleShapes models;
  PlannedWorld ranks;
};

}  // namespace roll
