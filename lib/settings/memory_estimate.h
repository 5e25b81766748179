// About how much memory a rank needs, before anything is loaded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/spec.h"
#include "settings/by_role.h"
#include "settings/config.h"
#include "settings/dpo_config.h"

namespace roll {

inline constexpr double kProgramOnCpu = 0.15e9;  // with LibTorch: measured, 0.1 to 0.25

/// Bytes of one rank, all roles that live there together. Weights, gradients and optimizer are what is allocated;
/// activations are those of micro-batches as full as they may be, of which every token has a label, right to ten
/// percent. Allocator slack and the framework itself (about 1 GB on a GPU) come on top.
struct MemoryEstimate {
  double weights =
      0;  // policy, critic, reference or teachers, judges, and the sampler's own where it cannot read the trainer's
  double gradients = 0;    // policy and critic, float32
  double optimizer = 0;    // Adam's two moments, and what makes float32 masters of 16-bit weights
  double activations = 0;  // of the largest micro-batch, of training or of a forward pass
  double kv_cache = 0;     // of max_running_requests sequences at full length; a GPU without so much room makes do
  double merged = 0;       // of a GPU's sampler, which adds adapters to a copy of the layers' weights
  double put_away = 0;     // of the first three, what `offload` moves to host memory while a GPU samples
  double gathered = 0;     // of weights, what an update has not where it gathers layers
  double visiting = 0;     // the largest reference that waits in host memory, during its forward, and what that takes
  double checkpoint = 0;   // on the host: optimizer state, and on a role's first rank the whole model

  /// Of the device, by what it does.
  double training() const { return weights - gathered + gradients + optimizer + std::max(activations, visiting); }
  double sampling() const { return weights + gradients + optimizer - put_away + merged + kv_cache; }
  double total() const { return std::max(training(), sampling()); }
  /// Of the host, where the rank computes on the CPU: a checkpoint is copied beside everything else.
  double on_cpu() const { return total() + checkpoint + kProgramOnCpu; }
};

/// `on_gpu` decides the numbers of models whose dtype is not set.
MemoryEstimate estimate_memory(const Config& config, const RoleShapes& models, bool on_gpu, int rank);

/// "weights 15.2 GB + gradients ... = 96.1 GB".
std::string memory_text(const MemoryEstimate& memory);

}  // namespace roll
