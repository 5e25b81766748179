// Computes a mixture of experts for mixers.cpp: a router picks a few gated MLPs ("experts") per token, and their
// results are added, weighted by the router's probabilities. Tokens are sorted by expert, so that each expert
// multiplies contiguous rows; nothing is padded or dropped. Router, probabilities and sum are float32 (float64 in
// float64 models), in training and sampling alike, because the choice of experts depends on the last bits.
// Legend: T tokens, E hidden size, N experts, K experts that each token uses.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "model/backbone.h"
#include "model/mixers.h"

namespace roll {

/// Members of LayerPass (mixers.h) that a mixture reads, and the router's input.
struct ExpertPass {
  Communicator* ranks = nullptr;            // ranks that share the experts and exchange tokens; null: all are here
  RouterTraining* routers = nullptr;        // trains and measures the routers; null: no training
  const LayerLauncher* launcher = nullptr;  // GPU kernels between matrix products; null: LibTorch's operators
  RoutedExperts routed{};                   // experts of all mixtures of the model, to replay or to record
  at::Tensor router_input{};                // [T, E]: input of the router (and its norm, if any); undefined: x
  double eps = 0;                           // epsilon of the router's norm
  bool adds_bias = true;                    // adds the biases of experts' results: on one tensor rank only
};

/// Returns the weighted sum of the experts' results for each token: x [T, E] -> [T, E]. Under tensor parallelism it is
/// this rank's partial sum. Differentiable. **Collective** over pass.ranks in forward and in backward: a rank without
/// tokens must call it, too.
at::Tensor mix_experts(const Experts& experts, const LayerWeights& weights, const at::Tensor& x,
                       const ExpertPass& pass);

/// Returns a function for a rank that has no micro-batch left while others compute one. It runs a forward on one token
/// and returns the scalar 0 (undefined on pipeline stages before the last). The result has a graph through all layers,
/// so that backward joins all collectives. Returns null if such a rank may do nothing: no ranks share experts, and
/// `is_waited_for` is false. `is_waited_for`: other ranks gather layers from this one (LayerStore). `backbone` must
/// outlive the function. The function is **collective** like a forward.
/// trains_mtp: the forward also runs the MTP head.
std::function<at::Tensor()> empty_pass(const Backbone& backbone, const Recomputation& recompute,
                                       bool is_waited_for = false, bool trains_mtp = false);

/// The chosen experts of each token and their weights.
struct Routing {
  at::Tensor experts;  // [T, K] int64: by descending probability plus bias, of equals the lower number first
  at::Tensor weights;  // [T, K] float32 or float64; differentiable
};

/// Chooses experts by a router's logits [T, N], float32 or float64. `bias` [N]: added to the probabilities for the
/// choice alone (choose_experts.h); undefined: none. `replayed` [T, K]: experts to use instead of the router's choice,
/// with -1 where that stays; undefined: it stays everywhere. The weights come from the logits in any case (rollout
/// routing replay, Ma et al. 2025). `training`: measures and trains the router, which is router `number` of the model;
/// may be null.
Routing route(at::Tensor logits, const RoutingRule& rule, const at::Tensor& bias = {}, const at::Tensor& replayed = {},
              RouterTraining* training = nullptr, int64_t number = 0);

}  // namespace roll
