// One step of reinforcement learning on a world of any size: who sends what, and who computes how much. What is sent is
// what training's own code sends (planned_step.h); what is computed follows from its plans.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "forecast/simulated_world.h"
#include "forecast/thin_step.h"
#include "rollout/roofline.h"

namespace roll {

/// What a rank computes while it samples.
struct SamplingWork {
  StepCost prompts, decoding;
};

/// Of each running rank.
struct RankForecast {
  RankTraffic traffic;
  std::map<std::string, double> flops;  // by phase
  SamplingWork sampling;
};

/// A step as after the first one of a run; where rollouts are replayed, without sampling.
std::vector<RankForecast> forecast_step(const SimulatedWorld& world, const ThinStep& step);

}  // namespace roll
