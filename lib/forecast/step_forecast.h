// One step of reinforcement learning on a world of any size: who sends what, and who computes how much. Training's own
// code says so (planned_step.h), and a model of the engine what sampling computes.
#pragma once

#include <vector>

#include "forecast/planned_step.h"
#include "rollout/roofline.h"

namespace roll {

/// What a rank computes while it samples.
struct SamplingWork {
  DecodingCost prompts, decoding;
};

/// Of each running rank.
struct RankForecast : PlannedWork {
  SamplingWork sampling;
};

/// A step as after the first one of a run; where rollouts are replayed, without sampling.
std::vector<RankForecast> forecast_step(const SimulatedWorld& world, const ThinStep& step);

}  // namespace roll
