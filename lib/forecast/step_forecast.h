// Forecasts one step of reinforcement learning on a world of any size: each rank's traffic and computation. Training is
// run as planned (planned_step.h); sampling is estimated by a cost model of the engine.
#pragma once

#include <vector>

#include "forecast/planned_step.h"
#include "rollout/roofline.h"

namespace roll {

/// Cost of sampling on one rank.
struct SamplingWork {
  DecodingCost prompts, decoding;
};

/// Forecast of one running rank.
struct RankForecast : PlannedWork {
  SamplingWork sampling;
};

/// Forecasts a step after a run's first. Replayed rollouts have no sampling.
std::vector<RankForecast> forecast_step(const SimulatedWorld& world, const ThinStep& step);

}  // namespace roll
