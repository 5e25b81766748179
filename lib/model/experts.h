// What a mixture of experts computes: a router chooses for each token a few gated MLPs, whose results are added with
// its probabilities as weights. Tokens are sorted by expert, so that each expert multiplies rows that lie one behind
// the other, and nothing is padded or dropped. The router, its probabilities and the sum are float32 (of float64 models
// float64), in training and in sampling alike: what is chosen depends on the last bits.
// Legend: T tokens, E hidden size, N experts, K chosen by each token.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "model/backbone.h"
#include "model/mixers.h"

namespace roll {

struct ExpertPass {
  Communicator* ranks = nullptr;  // that share the experts: rows go to them, results come from them; null: none
  RouterTraining* routers = nullptr;
  const LayerLauncher* launcher = nullptr;  // as LayerPass has it
  RoutedExperts routed{};
  at::Tensor router_input{};  // [T, E], before its norm; undefined: x
  double eps = 0;             // of that norm
};

/// x [T, E] -> [T, E]; under tensor parallelism partial sums. Differentiable. **Collective** over the ranks that share
/// the experts, however many tokens each of them has, forward and backward.
at::Tensor mix_experts(const Experts& experts, const LayerWeights& weights, const at::Tensor& x,
                       const ExpertPass& pass);

/// The pass of a micro-batch that holds nothing: 0, with a graph through all layers. Null where a rank without tokens
/// may stay away: others wait for it where ranks share experts, and where `is_waited_for` says so, as they gather
/// layers. **Collective** as a forward.
std::function<at::Tensor()> empty_pass(const Backbone& backbone, const Recomputation& recompute,
                                       bool is_waited_for = false);

/// The chosen experts of each token and their weights.
struct Routing {
  at::Tensor experts;  // [T, K] int64, most likely first; of equally likely ones that with the lower number
  at::Tensor weights;  // [T, K] float32 or float64; differentiable
};

/// From the logits [T, N], float32 or float64, of a router; `bias` [N]: see choose_experts(), undefined: there is none.
/// `replayed` [T, K]: the experts that tokens go through whatever the logits say, -1: those that they say; undefined:
/// all of them. Weights come from the logits in any case (Ma et al. 2025, rollout routing replay). `training`: of the
/// model's router `number`, or null.
Routing route(at::Tensor logits, const RoutingRule& rule, const at::Tensor& bias = {}, const at::Tensor& replayed = {},
              RouterTraining* training = nullptr, int64_t number = 0);

}  // namespace roll
