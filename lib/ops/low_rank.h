// Linear layers with a low-rank adapter: x W^T + scale * x A^T B^T (LoRA, Hu et al. 2021, arXiv:2106.09685). A and B
// are float32 beside a bfloat16 model. Their products run by blocks of rows, which on a CPU fit the cache, so that they
// need no float32 copy of all of x or of the product. Backward reads x itself, and computes dropout's mask again.
// Legend: T rows, K inputs, N outputs, r rank.
#pragma once

#include <ATen/core/Tensor.h>

#include "ops/dropout.h"

namespace roll {

/// A low-rank product and dropout of its input.
struct LowRank {
  at::Tensor a, b;  // [r, K], [N, r], float32 or float64
  double scale = 1;
  at::Tensor token_keys = {};  // [T], from dropout_keys(); undefined: no dropout
  DropoutRule dropout = {};
};

// If a.grad() or b.grad() exists, backward of both functions adds to it in place like accumulating_linear().

/// Returns x W^T + scale * dropout(x) A^T B^T: x [T, K], weight [N, K] -> [T, N]. W gets no gradient.
at::Tensor adapted_linear(const at::Tensor& x, const at::Tensor& weight, const LowRank& low_rank);

/// Returns y + scale * dropout(x) A^T B^T in y's dtype: y [T, N], x [T, K].
at::Tensor add_low_rank(const at::Tensor& y, const at::Tensor& x, const LowRank& low_rank);

}  // namespace roll
