// Measures how fast this machine trains and samples a model of a given shape, for time_forecast.h. Times two random
// models with few layers and part of the vocabulary, and extrapolates from their difference to all layers. Loads no
// weights, and takes a second or two for any size.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "model/spec.h"
#include "ops/recomputation.h"
#include "rollout/roofline.h"
#include "rollout/settings.h"

namespace roll {

struct TriedModel {
  ModelSpec spec;
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
};

/// Returns true if two layers of the model fit into half of the free memory for training.
bool can_be_tried(const TriedModel& model);

/// Sequences trained together.
struct TrainingShape {
  int64_t length = 0;          // tokens per sequence
  int64_t tokens = 0;          // per micro-batch
  Recomputation recomputes{};  // recomputation in backward counts as work
  bool has_head = true;        // false for a critic
};

struct TrainingSpeed {
  double forward_flops_per_s = 0;   // without gradient
  double training_flops_per_s = 0;  // forward and backward
  double update_s = 0;              // gradient norm and optimizer, all trained parameters
};

TrainingSpeed try_training(const TriedModel& model, const TrainingShape& shape);

struct SamplingShape {
  int64_t slots = 1;    // concurrent sequences
  int64_t context = 0;  // mean tokens per sequence
  bool int8_weights = false;
  SamplingSettings draws{};
};

struct SamplingSpeed {
  double prompt_flops_per_s = 0;
  MachineSpeed peak{};
  double decoding_share = 1;  // speed as a share of the peak's bound
};

SamplingSpeed try_sampling(const TriedModel& model, const SamplingShape& shape);

}  // namespace roll
