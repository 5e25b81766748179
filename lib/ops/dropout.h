// Dropout whose masks are named instead of drawn (base/random.h): a mask follows from the seed, the update, all tokens
// of the sequence so far, the product that reads the numbers, and their column there. So neither the layout of a batch,
// nor a cut of tokens or columns over ranks, nor a prompt that is computed once for its responses changes it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roll {

/// Which numbers are left out: each with probability `rate`; the others are divided by 1 - rate.
struct DropoutRule {
  double rate = 0;
  uint32_t product = 0;      // a number of its own for each that reads
  int64_t first_column = 0;  // of the columns that are here
};

/// A name for each token, [T] int64, of packed ids [T] on the host: equal where sequences have begun alike.
at::Tensor dropout_names(const at::Tensor& ids, const std::vector<int64_t>& cu_seqlens, uint64_t seed, uint32_t step);

/// x [T, K] float32 or float64 of tokens with `names` [T]. Differentiable, and no mask is kept.
at::Tensor dropped_out(const at::Tensor& x, const at::Tensor& names, const DropoutRule& rule);

/// [T, width] bool: what stays; the definition in LibTorch's operators, for any device.
at::Tensor kept_columns(const at::Tensor& names, int64_t width, const DropoutRule& rule);

}  // namespace roll
