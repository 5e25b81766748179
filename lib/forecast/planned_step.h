// Runs the training code of a step on simulated ranks (planned_ranks.h) with models without data, and counts their
// traffic and computation. Used by step_forecast.h.
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
  std::map<std::string, double> flops;   // by phase ("train_actor")
  std::map<std::string, double> passes;  // number of forward passes over micro-batches, by phase
};

/// Returns the work of each running rank (in the order of world.ranks.running) in a step that is not a run's first.
/// `holders` says which sequences of `step` each planned rank has sampled or, for replayed rollouts, reads. The FLOPs
/// of sampling are not counted.
std::vector<PlannedWork> run_planned_step(const SimulatedWorld& world, const ThinStep& step,
                                          const Distribution& holders);

}  // namespace roll
