// Estimates how much memory a rank needs, before any weights are loaded.
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

/// Bytes of the program itself with LibTorch, without models, on the CPU; measured: 0.1 to 0.25 GB.
inline constexpr double kProgramOnCpu = 0.15e9;

/// Memory of one rank in bytes, summed over the roles on this rank. Weights, gradients and optimizer are as allocated.
/// Activations are estimated within ten percent, for the fullest micro-batch with a loss on every token. Not counted:
/// unused memory that the allocator keeps, and the framework (about 1 GB on a GPU).
struct MemoryEstimate {
  double weights = 0;      // all models; includes the sampler's copy if it cannot share the trainer's tensors
  double gradients = 0;    // policy and critic, float32
  double optimizer = 0;    // moments of AdamW and Muon, and extra bytes for float32 master weights
  double activations = 0;  // largest micro-batch, in training or a forward pass
  double kv_cache = 0;     // max_running_requests full-length sequences; a GPU uses less if memory is short
  double merged = 0;       // GPU sampler's copy of the layers with adapters merged in
  double offloaded = 0;    // part of weights, gradients and optimizer that is on the host during sampling (offload)
  double gathered = 0;     // part of `weights` that is freed during updates, because layers are gathered (ZeRO-3)
  double loaded_reference = 0;  // with offload: weights and activations of the largest reference, during its forward
  double checkpoint = 0;        // host copy: optimizer state; on a role's first rank also its trained weights

  /// Device memory in bytes while training, while sampling, and the larger of the two.
  double training() const {
    return weights - gathered + gradients + optimizer + std::max(activations, loaded_reference);
  }
  double sampling() const { return weights + gradients + optimizer - offloaded + merged + kv_cache; }
  double total() const { return std::max(training(), sampling()); }
  /// Host memory in bytes of a rank that computes on the CPU, including the copy of a checkpoint and the program.
  double on_cpu() const { return total() + checkpoint + kProgramOnCpu; }
};

/// Returns the memory estimate of the global rank `rank`. `models` must have the policy's shape; a reference or teacher
/// without a shape counts as the policy without adapters, and other roles without one are left out. `on_gpu`: the ranks
/// compute on GPUs, which also decides the dtype of models that set none.
MemoryEstimate estimate_memory(const Config& config, const RoleShapes& models, bool on_gpu, int rank);

/// Returns "weights 15.2 + gradients ... = 96.1 GB".
std::string memory_text(const MemoryEstimate& memory);

}  // namespace roll
