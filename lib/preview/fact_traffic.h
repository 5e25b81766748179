// What ranks tell each other of a step's responses beside their tokens: counts while they are collected, facts, and
// what statistics are made of. Metrics, states and news of sampling, which are texts, are left out.
#pragma once

#include "preview/simulated_world.h"
#include "preview/thin_step.h"
#include "train/routes.h"

namespace roll {

/// What ends a collection of responses (train/collect.cpp).
void add_collection_traffic(TrafficForecast& forecast, const RoleView& sampler, const Config& config,
                            const ThinStep& step, const Distribution& holders);
/// The facts of all responses to all (train/step_index.cpp).
void add_fact_traffic(TrafficForecast& forecast, const SimulatedWorld& world, const ThinStep& step,
                      const Distribution& holders);
/// Sums over the actor's data ranks that complete the step (experience/build.cpp, describe.cpp). `asked`: of the whole
/// world, whose prompts are of the step's domains.
void add_statistics_traffic(TrafficForecast& forecast, const RoleView& actor, const Config& asked,
                            const ThinStep& step);

}  // namespace roll
