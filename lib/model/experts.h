// Computes a mixture of experts for mixers.cpp: a router picks a few gated MLPs per token, and their results are added
// with its probabilities as weights. Tokens are sorted by expert, so that each expert multiplies contiguous rows;
// nothing is padded or dropped. Router, probabilities and sum are float32 (float64 in float64 models), in training and
// sampling alike: the choice depends on the last bits.
// Legend: T tokens, E hidden size, N experts, K chosen by each token.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "model/backbone.h"
#include "model/mixers.h"

namespace roll {

struct ExpertPass {
  Communicator* ranks = nullptr;  // ranks that share the experts and exchange rows; null: none
  RouterTraining* routers = nullptr;
  const LayerLauncher* launcher = nullptr;  // see LayerPass
  RoutedExperts routed{};
  at::Tensor router_input{};  // [T, E], before the router's norm; undefined: x
  double eps = 0;             // epsilon of the router's norm
};

/// Returns the mixture of x: [T, E] -> [T, E]; a partial sum under tensor parallelism. Differentiable. **Collective**
/// over the ranks that share experts, forward and backward, even for a rank without tokens.
at::Tensor mix_experts(const Experts& experts, const LayerWeights& weights, const at::Tensor& x,
                       const ExpertPass& pass);

/// Returns a pass over an empty micro-batch: 0, with a graph through all layers. Null if a rank without tokens may stay
/// away. It must not if ranks share experts, or if other ranks wait to gather layers (`is_waited_for`). **Collective**
/// like a forward.
std::function<at::Tensor()> empty_pass(const Backbone& backbone, const Recomputation& recompute,
                                       bool is_waited_for = false);

/// The chosen experts of each token and their weights.
struct Routing {
  at::Tensor experts;  // [T, K] int64, most likely first; ties: lower number first
  at::Tensor weights;  // [T, K] float32 or float64; differentiable
};

/// Routes tokens by a router's logits [T, N], float32 or float64. `bias` [N]: see choose_experts(); undefined: none.
/// `replayed` [T, K]: experts that replace the router's choice, -1: keep its choice; undefined: keep all. Weights come
/// from the logits in any case (Ma et al. 2025, rollout routing replay). `training`: gets the model's router `number`,
/// or null.
Routing route(at::Tensor logits, const RoutingRule& rule, const at::Tensor& bias = {}, const at::Tensor& replayed = {},
              RouterTraining* training = nullptr, int64_t number = 0);

}  // namespace roll
