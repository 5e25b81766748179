// How fast this machine computes a model of some shape. Two random models are tried that have a few of its layers and a
// part of its vocabulary; the second has more layers, and what these take speaks for all that are left out. So nothing
// is loaded, and a trial takes a second or two whatever the model's size.
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

/// Whether this machine has the memory for two layers of it in training.
bool can_be_tried(const TriedModel& model);

/// Sequences that are trained on together.
struct TrainingShape {
  int64_t length = 0;          // tokens of a sequence
  int64_t tokens = 0;          // of a micro-batch
  Recomputation recomputes{};  // what backward computes again counts as work
  bool has_head = true;        // a critic has none
};

struct TrainingSpeed {
  double forward_flops_per_s = 0;   // without gradient
  double training_flops_per_s = 0;  // forward and backward
  double update_s = 0;              // the gradient's norm and the optimizer, of all that is trained
};

TrainingSpeed try_training(const TriedModel& model, const TrainingShape& shape);

struct SamplingShape {
  int64_t slots = 1;    // sequences at once
  int64_t context = 0;  // tokens of a sequence, in the mean
  bool int8_weights = false;
  SamplingSettings draws{};
};

struct SamplingSpeed {
  double prompt_flops_per_s = 0;
  MachineSpeed peak{};
  double decoding_share = 1;  // of what that peak allows
};

SamplingSpeed try_sampling(const TriedModel& model, const SamplingShape& shape);

}  // namespace roll
