// Estimates the activation memory of a micro-batch from shapes alone, for settings/memory_estimate.h. It excludes
// weights, gradients and optimizer state. It models the code that runs. On a GPU that is the layer kernels
// (ops/fused_layer.h), LibTorch's flash kernels for 16-bit dtypes and its plain operators for float32; on the CPU it is
// our own operators. Sizes that the layer kernels do not support (mixers.cpp) are outside its scope.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/spec.h"
#include "ops/recomputation.h"

namespace roll {

/// The micro-batch and the layout of the ranks that compute it.
struct ActivationRule {
  int64_t tokens = 0;   // tokens that all ranks of the micro-batch compute together; shared prefixes count once
  int64_t whole = 0;    // the same, if shared prefixes count once per sequence; 0: prefixes are not shared
  int64_t longest = 0;  // tokens of the micro-batch's longest sequence
  int64_t tp = 1, cp = 1, ep = 1;  // numbers of tensor, context and expert ranks
  at::ScalarType dtype = at::kBFloat16;
  bool on_gpu = true;
  Recomputation recomputation{};
  std::vector<int64_t> layers{};  // indices of this pipeline stage's layers, ascending; empty: all layers
  bool deterministic = false;     // the GPU uses kernels with a fixed order of sums
  bool has_lm_head = true;        // false: a value head, one output per token
  double in_flight = 1;           // micro-batches whose activations this rank holds at once; above 1 only in a pipeline
};

/// Returns the peak bytes of activations on each rank during a micro-batch's forward and backward.
double training_activation_bytes(const ModelSpec& spec, const ActivationRule& rule);

/// Returns the peak bytes of activations on each rank during a forward without backward.
double forward_activation_bytes(const ModelSpec& spec, const ActivationRule& rule);

/// Returns the size limit, in bytes, of the logits that training holds at once: the lm head computes them in chunks of
/// tokens. A GPU gets larger chunks, because it needs many tokens per matrix product to be busy.
constexpr int64_t logits_chunk_bytes(bool on_gpu) {
  return (on_gpu ? int64_t{512} : int64_t{64}) << 20;
}

}  // namespace roll
