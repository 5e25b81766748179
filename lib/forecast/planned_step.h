// Runs the training code of a step on planned ranks and models, and counts their traffic and computation. Used by
// step_forecast.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "forecast/simulated_world.h"
#include "forecast/thin_step.h"
#include "step/redistribution.h"

namespace roll {

/// Traffic and FLOPs of one rank in a step.
struct PlannedWork {
  RankTraffic traffic;
  std::map<std::string, double> flops;   // by phase
  std::map<std::string, double> passes;  // number of forwards, by phase
};

/// Returns the work of each running rank in a step after a run's first, counted from the end of the step before.
/// `holders`: which planned rank has sampled, or reads, which sequences. The FLOPs of sampling are not counted.
std::vector<PlannedWork> run_planned_step(const SimulatedWorld& world, const ThinStep& step,
                                          const Distribution& holders);

}  // namespace roll
