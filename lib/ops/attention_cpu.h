// Causal attention of packed sequences on the CPU, in blocks of queries whose scores stay in cache.
// Non-goal: low memory for very long sequences; a block's scores are kQueryBlock x length per thread.
// Legend: T packed tokens, K keys, H query heads, Hkv key/value heads, D head size.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/attention_pieces.h"

namespace roll {

struct AttentionResult {
  at::Tensor out;        // [T, H, D]
  at::Tensor logsumexp;  // [T, H], of the scaled scores that a query sees
};

struct AttentionGrads {
  at::Tensor q, k, v;
};

/// q [T, H, D], k and v [K, Hkv, D], contiguous, float32 or float64.
AttentionResult attention_forward_cpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const Pieces& pieces, double scale);

/// grad_out [T, H, D]; gives gradients of the shapes of q, k and v.
AttentionGrads attention_backward_cpu(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                                      const at::Tensor& v, const AttentionResult& forward, const Pieces& pieces,
                                      double scale);

}  // namespace roll
