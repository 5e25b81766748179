// Runs the training code of a step on simulated ranks (planned_ranks.h), with models whose tensors have shapes but no
// data. Counts the ranks' traffic and computation. Used by step_forecast.h.
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

/// Returns the work of each running rank (in the order of world.ranks.running) in `step`, without the preparations of a
/// run's first step. `holders`: the sequences of `step` that each planned rank has sampled or, with rollout_replay,
/// reads. Traffic of sampling is counted, its FLOPs are not.
std::vector<PlannedWork> run_planned_step(const SimulatedWorld& world, const ThinStep& step,
                                          const Distribution& holders);

}  // namespace roll
