// Input of a simulated step (planned_step.h, step_forecast.h): configuration, models and ranks of the requested world,
// and of the smaller planned world that stands for it (planned_ranks.h).
#pragma once

#include "forecast/planned_ranks.h"
#include "settings/config.h"
#include "settings/memory_estimate.h"

namespace roll {

struct SimulatedWorld {
  Config planned, requested;  // configuration at each world's number of ranks; a small world is its own planned world
  RoleShapes models;          // shape of each role's model
  PlannedWorld ranks;
};

}  // namespace roll
