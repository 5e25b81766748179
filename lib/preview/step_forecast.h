// One step of reinforcement learning on a world of any size: who sends what, and who computes how much. Made of the
// plans that training makes, from lengths alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "preview/simulated_world.h"
#include "preview/thin_step.h"
#include "rollout/roofline.h"

namespace roll {

/// What a rank computes while it samples.
struct SamplingWork {
  StepCost prompts, decoding;
};

struct StepForecast {
  TrafficForecast traffic;                           // of planned ranks
  std::map<std::string, std::vector<double>> flops;  // [planned rank] by phase
  std::vector<SamplingWork> sampling;                // [planned rank]
};

/// A step as after the first one of a run; where rollouts are replayed, without sampling.
StepForecast forecast_step(const SimulatedWorld& world, const ThinStep& step);

}  // namespace roll
