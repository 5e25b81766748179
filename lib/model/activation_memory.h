// Estimates a micro-batch's activation memory (beside weights, gradients, optimizer) from shapes alone, for memory
// plans. It follows what the forwards keep (mixers.cpp, ops/): on a GPU the layer kernels, LibTorch's flash kernels for
// 16-bit dtypes and its plain operators for float32; on the CPU our own operators. Non-goals: sizes that the kernels do
// not support (mixers.cpp).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/spec.h"
#include "ops/recomputation.h"

namespace roll {

struct ActivationRule {
  int64_t tokens = 0;   // computed tokens of a micro-batch, over all ranks that share it
  int64_t whole = 0;    // tokens of its sequences with shared prefixes repeated; 0: no prefix sharing
  int64_t longest = 0;  // tokens of its longest sequence
  int64_t tp = 1, cp = 1, ep = 1;
  at::ScalarType dtype = at::kBFloat16;
  bool on_gpu = true;
  Recomputation recomputation{};
  std::vector<int64_t> layers{};  // layers of this rank; empty: all
  bool deterministic = false;     // the GPU uses kernels with a fixed order of sums
  bool has_lm_head = true;        // false: a value head, one output per token
  double in_flight = 1;           // micro-batches whose backward is pending; several in a pipeline stage
};

/// Returns the peak bytes of activations on each rank during a micro-batch's forward and backward.
double training_activation_bytes(const ModelSpec& spec, const ActivationRule& rule);

/// Returns the peak bytes of activations on each rank during a forward without backward.
double forward_activation_bytes(const ModelSpec& spec, const ActivationRule& rule);

/// Returns the bytes of a chunk of logits in training: a GPU needs many rows per product to be busy, and has the
/// memory.
constexpr int64_t logits_chunk_bytes(bool on_gpu) {
  return (on_gpu ? int64_t{512} : int64_t{64}) << 20;
}

}  // namespace roll
