// A step of reinforcement learning by the code that trains, on ranks and models that are only planned: what it makes
// them send each other.
#pragma once

#include "forecast/simulated_world.h"
#include "forecast/thin_step.h"
#include "step/redistribution.h"

namespace roll {

/// Of each running rank: a step as after the first one of a run, from the end of the one before. `holders`: who has
/// sampled, or reads, which sequences; one planned rank each.
std::vector<RankTraffic> run_planned_step(const SimulatedWorld& world, const ThinStep& step,
                                          const Distribution& holders);

}  // namespace roll
