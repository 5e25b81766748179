// What a mixture of experts computes: a router chooses for each token a few gated MLPs, whose results are added with
// its probabilities as weights. Tokens are sorted by expert, so that each expert multiplies rows that lie one behind
// the other, and nothing is padded or dropped. The router, its softmax and the sum are float32 (of float64 models
// float64), in training and in sampling alike: what is chosen depends on the last bits.
// Legend: T tokens, E hidden size, N experts, K chosen by each token.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/backbone.h"

namespace roll {

/// x [T, E] -> [T, E]; under tensor parallelism partial sums. Differentiable.
at::Tensor mix_experts(const Experts& experts, const LayerWeights& weights, const at::Tensor& x);

/// The chosen experts of each token and their weights.
struct Routing {
  at::Tensor experts;  // [T, K] int64, most likely first; of equally likely ones that with the lower number
  at::Tensor weights;  // [T, K] float32 or float64; differentiable
};

/// From the router's logits [T, N], float32 or float64.
Routing route(const at::Tensor& logits, int64_t chosen, bool renormalises);

}  // namespace roll
