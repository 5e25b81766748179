// About how much memory a rank needs, before anything is loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/spec.h"
#include "settings/config.h"

namespace roll {

/// Bytes of one rank, all roles together. Weights, gradients and optimizer are what is allocated; activations and cache
/// are a reckoning, right to some ten percent. Allocator slack and the framework itself (about 1 GB on a GPU) come on
/// top.
struct MemoryEstimate {
  double weights = 0;  // policy, critic, reference, and the sampler's own where its tensor ranks are not the trainer's
  double gradients = 0;    // policy and critic, float32
  double optimizer = 0;    // Adam's two moments, and float32 masters of 16-bit weights
  double activations = 0;  // of the largest training micro-batch
  double kv_cache = 0;     // of max_running_requests sequences at full length
  double checkpoint = 0;   // on the host, of rank 0: its copy of the whole models and of its optimizer state

  /// Of the device.
  double total() const { return weights + gradients + optimizer + activations + kv_cache; }
};

struct PlannedModels {
  ModelSpec policy;
  std::optional<ModelSpec> critic;
  std::optional<ModelSpec> reference = {};            // where it is not the policy's
  std::vector<std::optional<ModelSpec>> judges = {};  // of judging_models(config), where they are here
};

/// `on_gpu` decides the numbers of models whose dtype is not set.
MemoryEstimate estimate_memory(const Config& config, const PlannedModels& models, int64_t num_ranks, bool on_gpu);

/// "weights 15.2 GB + gradients ... = 96.1 GB".
std::string memory_text(const MemoryEstimate& memory);

}  // namespace roll
