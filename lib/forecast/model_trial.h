// Measures how fast this machine trains and samples a model of a given shape, for time_forecast.h. Times two models
// with random weights, few layers and part of the vocabulary, and extrapolates from their difference to all layers. A
// measurement loads no weights from disk, and takes a second or two for any size.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "model/spec.h"
#include "ops/recomputation.h"
#include "rollout/roofline.h"
#include "rollout/settings.h"

namespace roll {

/// Model to measure, and the device to measure it on.
struct TriedModel {
  ModelSpec spec;                     // shape of the whole model
  at::Device device = at::kCPU;       // device that computes
  at::ScalarType dtype = at::kFloat;  // dtype of the weights in computation
};

/// Returns true if training two layers of the model takes at most half of the device's free memory. Otherwise do not
/// call try_training() or try_sampling().
bool can_be_tried(const TriedModel& model);

/// Training work of one rank, in one forward and backward pass.
struct TrainingShape {
  int64_t length = 0;          // tokens per sequence
  int64_t tokens = 0;          // tokens per micro-batch
  Recomputation recomputes{};  // layers that backward recomputes; their FLOPs count as work
  bool has_head = true;        // the model has a language-model head; false for a critic
};

/// Result of try_training().
struct TrainingSpeed {
  double forward_flops_per_s = 0;   // forward passes without gradient
  double training_flops_per_s = 0;  // forward and backward passes together
  double update_s = 0;              // seconds of an optimizer update (with gradient norm) of the whole model
};

/// Measures forward passes, training passes and updates. Call it only if can_be_tried(model).
TrainingSpeed try_training(const TriedModel& model, const TrainingShape& shape);

/// Sampling work of one rank.
struct SamplingShape {
  int64_t slots = 1;         // number of sequences decoded at once
  int64_t context = 0;       // mean tokens per sequence, prompt included
  int64_t weight_bits = 0;   // 8, 4: decoding reads weights in so many bits; 0: in the dtype
  SamplingSettings draws{};  // how tokens are drawn: temperature, top_p, ...
};

/// Result of try_sampling().
struct SamplingSpeed {
  double prompt_flops_per_s = 0;  // prefill: computing prompts
  MachineSpeed peak{};            // measured peak memory and arithmetic speed of the device
  double decoding_share = 1;      // decoding speed as a share of the bound that `peak` allows (rollout/roofline.h)
};

/// Measures prefill and decoding. Call it only if can_be_tried(model).
SamplingSpeed try_sampling(const TriedModel& model, const SamplingShape& shape);

}  // namespace roll
