// What ranks that share a model send each other while they compute (model/backbone.cpp, log_probs.cpp,
// value_model.cpp).
#pragma once

#include "model/spec.h"
#include "preview/thin_step.h"
#include "preview/traffic_forecast.h"

namespace roll {

/// How a role computes on sequences.
struct ModelPass {
  const ModelSpec& spec;
  bool gives_values = false;  // else log-probs, in training with entropy
  bool trains = false;        // backward as well
  bool recomputes = false;
  int64_t element = 4;  // bytes of an activation
  Path path = Path::kHost;
};

/// The ranks that share a model, seen by one of them.
struct ModelGroups {
  Group tp, cp;
};

/// A micro-batch of these sequences of a step.
void add_model_traffic(PhaseTraffic& traffic, const ModelPass& pass, const ModelGroups& groups, const ThinStep& step,
                       const std::vector<int64_t>& micro_batch);

/// Sampling of these sequences: sums of all layers' outputs, and the logits. Each prompt is computed once a group.
void add_sampling_traffic(PhaseTraffic& traffic, const ModelPass& pass, const Group& tp, const ThinStep& step,
                          const std::vector<int64_t>& sequences);

}  // namespace roll
