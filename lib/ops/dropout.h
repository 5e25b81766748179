// Dropout of the inputs of adapters, with counter-based random masks (base/random.h). An element's mask depends only on
// the seed, the update, all tokens of the sequence so far, the linear layer and the column. It is therefore the same
// for any packing, sharding of tokens or columns, and prefix sharing.
// Legend: T packed tokens, K columns on this rank.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roll {

/// Dropout of the input x of one linear layer: each element is dropped with probability `rate`, the others are divided
/// by 1 - rate.
struct DropoutRule {
  double rate = 0;
  uint32_t product = 0;      // unique id of the linear layer that reads x
  int64_t first_column = 0;  // index of x's first column in the whole matrix, if ranks share its columns
};

/// Returns a random key per token, [T] int64, on the host, for packed ids [T] int64 on the host; sequence b is tokens
/// [cu_seqlens[b], cu_seqlens[b + 1]). `step`: number of the update. Equal prefixes of sequences have equal keys.
at::Tensor dropout_keys(const at::Tensor& ids, const std::vector<int64_t>& cu_seqlens, uint64_t seed, uint32_t step);

/// Returns x with dropout: x [T, K] float32 or float64, token_keys [T] from dropout_keys(). Differentiable; backward
/// computes the mask again.
at::Tensor dropped_out(const at::Tensor& x, const at::Tensor& token_keys, const DropoutRule& rule);

/// Returns the mask of dropped_out(), [T, width] bool, true for elements that stay, by LibTorch's operators.
at::Tensor kept_columns(const at::Tensor& token_keys, int64_t width, const DropoutRule& rule);

}  // namespace roll
