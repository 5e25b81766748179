// A step of reinforcement learning by the code that trains, on ranks and models that are only planned: what it makes
// them send each other, and compute.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "forecast/simulated_world.h"
#include "forecast/thin_step.h"
#include "step/redistribution.h"

namespace roll {

/// What one rank sends, and what its models compute.
struct PlannedWork {
  RankTraffic traffic;
  std::map<std::string, double> flops;   // by phase
  std::map<std::string, double> passes;  // forward, by phase
};

/// Of each running rank: a step as after the first one of a run, from the end of the one before. `holders`: who has
/// sampled, or reads, which sequences; one planned rank each. What sampling computes is left out.
std::vector<PlannedWork> run_planned_step(const SimulatedWorld& world, const ThinStep& step,
                                          const Distribution& holders);

}  // namespace roll
