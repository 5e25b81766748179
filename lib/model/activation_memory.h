// What a micro-batch takes of memory beside weights, gradients and optimizer, from shapes alone. It follows what the
// forwards keep (mixers.cpp, ops/): on a GPU the layer's kernels, LibTorch's flash kernels for 16-bit numbers and its
// plain operators for float32, on the CPU its own operators. Non-goals: sizes that the kernels do not take
// (mixers.cpp).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/spec.h"
#include "ops/recomputation.h"

namespace roll {

struct ActivationRule {
  int64_t tokens = 0;   // of a micro-batch that are computed, on all ranks that share it
  int64_t whole = 0;    // of its sequences, where these share what they begin with; 0: none is shared
  int64_t longest = 0;  // of its sequences
  int64_t tp = 1, cp = 1, ep = 1;
  at::ScalarType dtype = at::kBFloat16;
  bool on_gpu = true;
  Recomputation recomputation{};
  std::vector<int64_t> layers{};  // that the rank has; empty: all
  bool deterministic = false;     // a GPU's sums have one order
  bool has_lm_head = true;        // else one number for each token
  double under_way = 1;           // micro-batches whose backward is to come: of a pipeline's stage several
};

/// The most bytes that live at once while a micro-batch goes forward and back, on each rank.
double training_activation_bytes(const ModelSpec& spec, const ActivationRule& rule);

/// The same of a pass without backward.
double forward_activation_bytes(const ModelSpec& spec, const ActivationRule& rule);

/// Of a chunk of logits in training: a GPU needs many rows per product to be busy, and has the memory for them.
constexpr int64_t logits_chunk_bytes(bool on_gpu) {
  return (on_gpu ? int64_t{512} : int64_t{64}) << 20;
}

}  // namespace roll
