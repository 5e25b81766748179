// Forecasts one step of reinforcement learning on a world of any size: each rank's traffic and computation, for
// simulation.h. The code of training is run on simulated ranks (planned_step.h); sampling is estimated by a cost model.
#pragma once

#include <vector>

#include "forecast/planned_step.h"
#include "rollout/roofline.h"

namespace roll {

/// Cost of sampling on one rank: of computing prompts, and of decoding.
struct SamplingWork {
  DecodingCost prompts, decoding;
};

/// Forecast of one running rank.
struct RankForecast : PlannedWork {
  SamplingWork sampling;  // 0 on ranks that do not sample, and with rollout_replay
};

/// Returns a forecast for each running rank (in the order of world.ranks.running) of a step that is not a run's first.
std::vector<RankForecast> forecast_step(const SimulatedWorld& world, const ThinStep& step);

}  // namespace roll
