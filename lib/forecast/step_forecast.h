// Forecasts one step of reinforcement learning on a world of any size: each rank's traffic and computation, for
// simulation.h. The training code runs on simulated ranks (planned_step.h); sampling is estimated by a cost model
// (rollout/roofline.h).
#pragma once

#include <vector>

#include "forecast/planned_step.h"
#include "rollout/roofline.h"

namespace roll {

/// Cost of sampling on one rank in a step, for computing prompts and for decoding.
struct SamplingWork {
  DecodingCost prompts, decoding;
};

/// Forecast of one running rank.
struct RankForecast : PlannedWork {
  SamplingWork sampling;  // all 0 on ranks that do not sample, and with rollout_replay
};

/// Returns a forecast for each running rank (in the order of world.ranks.running) of `step`, without the preparations
/// of a run's first step.
std::vector<RankForecast> forecast_step(const SimulatedWorld& world, const ThinStep& step);

}  // namespace roll
