// Dropout with counter-based random masks (base/random.h), for adapters. A mask depends on the seed, the update, all
// tokens of the sequence so far, the linear layer and the column. Batch layout, sharding of tokens or columns, and
// prefix sharing do not change it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roll {

/// Drops each element with probability `rate` and divides the others by 1 - rate.
struct DropoutRule {
  double rate = 0;
  uint32_t product = 0;      // id of the linear layer that reads x
  int64_t first_column = 0;  // index of this rank's first column
};

/// Returns a random key per token, [T] int64, for packed ids [T] on the host. Sequences with equal prefixes have equal
/// keys over the prefix.
at::Tensor dropout_keys(const at::Tensor& ids, const std::vector<int64_t>& cu_seqlens, uint64_t seed, uint32_t step);

/// Returns x with dropout: x [T, K] float32 or float64, token_keys [T]. Differentiable; backward computes the mask
/// again.
at::Tensor dropped_out(const at::Tensor& x, const at::Tensor& token_keys, const DropoutRule& rule);

/// Returns the mask [T, width] bool, true for kept elements; made of LibTorch's operators, for any device.
at::Tensor kept_columns(const at::Tensor& token_keys, int64_t width, const DropoutRule& rule);

}  // namespace roll
