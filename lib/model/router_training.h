// Trains and measures the routers of mixtures of experts, in addition to the training loss. It adds the gradients of
// two costs to those of the routers' logits in backward, and adjusts the experts' biases.
// Both costs are means over the mini-batch's T tokens, independent of how ranks and micro-batches divide these:
//   balance  sum over layers and sequences s of T_s / T * N * sum_i f_i P_i (Fedus et al. 2022, eq. 4), where f_i is
//            the share of choices of a sequence's T_s tokens that went to expert i, and P_i their mean probability
//            (a token's sigmoids are divided by their sum: Liu et al. 2024, eq. 18).
//            Each sequence is balanced in itself, like DeepSeek-V3 and Megatron's seq_aux_loss: the counts of the
//            whole mini-batch are known only after its last forward, those of a micro-batch depend on the layout.
//   z        sum over layers of the mean over tokens of logsumexp(logits)^2 (Zoph et al. 2022, eq. 5).
// Tokens of a shared prefix, computed once, count for each sequence that has it. (A sequence here is one context of
// packed.h.)
// Biases change only the choice of experts, and have no cost. After each update an expert's bias grows by a fixed step
// if the expert got fewer of the mini-batch's tokens than the mean, and shrinks if it got more (Wang et al. 2024,
// algorithm 1).
// Legend: S slots of this rank (tokens that it computes), M tokens in them if a shared prefix's are repeated for each
// sequence, T tokens of the mini-batch, N experts, K experts that each token uses.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dist/communicator.h"

namespace roll {

struct ModelParallel;

/// Coefficients of the two costs in the loss; 0: a cost is only measured.
struct RouterCosts {
  double balance = 0, z = 0;
  bool any() const { return balance > 0 || z > 0; }
};

class Backbone;
class RouterTraining;
struct ModelSpec;
struct PackedTokens;

/// Counts the tokens of each expert in a mini-batch, and changes the experts' biases by these counts (balance()).
class ExpertLoads {
 public:
  /// `step`: change of a bias per update.
  explicit ExpertLoads(double step) : step_(step) {}
  /// Adds `counts`, [N] whole numbers of tokens per expert, to those of the model's router `number`.
  void add(int64_t number, const at::Tensor& counts);
  /// Ends a mini-batch: changes all biases of the model by a step each, unless `was_made` is false (the optimizer
  /// skipped the update), and clears the counts. **Collective** over `ranks`, which share the mini-batch.
  void balance(const Backbone& backbone, bool was_made, Communicator& ranks);

 private:
  double step_;
  std::map<int64_t, at::Tensor> counts_;
};

/// How a run trains its routers.
struct RouterRule {
  RouterCosts costs{};
  std::shared_ptr<ExpertLoads> loads = {};  // null: biases are not trained
};

/// Returns a function that calls rule.loads->balance(), to be called after each update; null if the rule trains no
/// biases. The function is **collective** over `ranks`, which share mini-batches; `backbone` and `ranks` must outlive
/// it.
std::function<void(bool was_made)> balancing(const Backbone& backbone, const RouterRule& rule, Communicator& ranks);

/// Returns a micro-batch's tokens, with `routers` set if the model has mixtures and tokens.token_weight is above 0 (in
/// training).
PackedTokens with_routers(PackedTokens tokens, const ModelSpec& spec, const RouterRule& rule);

/// Router costs and measurements of one micro-batch: made by with_routers(), given its layout by lay_out(), called by
/// each router in forward; afterwards sums() has the metrics.
class RouterTraining {
 public:
  /// `num_routers`: of the whole model. `token_weight`: 1 / T. `loss_scale`: factor of the loss before backward.
  /// `replays`: tokens use the experts that the sampler's routers chose.
  RouterTraining(const RouterRule& rule, int64_t num_routers, double token_weight, double loss_scale,
                 bool replays = false)
      : costs_(rule.costs),
        loads_(rule.loads),
        num_routers_(num_routers),
        token_weight_(token_weight),
        loss_scale_(loss_scale),
        replays_(replays) {}

  bool replays() const { return replays_; }
  /// Sets the micro-batch's layout on this rank. For token i of M: slots[i] is its slot (`slots` undefined: i), and
  /// sequences[i] its sequence, from 0 to num_sequences - 1 (numbers that all context ranks share). `ends` [M], needed
  /// only with replay: not 0 for the last token of a sequence, which the sampler drew but never ran through the model.
  /// All are int64 on the tokens' device.
  void set_layout(const at::Tensor& slots, const at::Tensor& sequences, const at::Tensor& ends, int64_t num_sequences,
                  const ModelParallel& parallel);

  /// Measures router `number` of the model, and returns its logits [S, N] with the costs' gradients attached: the
  /// caller must compute on with the returned tensor. `chosen` [S, K]: experts in use; `router_choice` [S, K]: the
  /// router's own choice; `sampled` [S, K]: the sampler's choice in replay (-1: not recorded), else undefined.
  /// `is_sigmoid`: see RoutingRule. A repeated call for the same router, under recomputation, is not counted again.
  /// **Collective** over cp.
  at::Tensor train(const at::Tensor& logits, const at::Tensor& chosen, const at::Tensor& router_choice,
                   const at::Tensor& sampled, int64_t number, bool is_sigmoid);

  /// Returns the names of the metrics in sums(), in that order: prefix/moe/..., with the suffix @sum.
  std::vector<std::string> names(const std::string& prefix) const;
  /// Returns the metrics of this micro-batch, one 0-dim float64 tensor each: a sum over tokens, times token_weight, and
  /// a mean over the model's routers. Routers on other pipeline stages count as 0, so the sum over micro-batches and
  /// stages is the mean over the mini-batch. The metrics are balance cost and z cost (without coefficients), entropy of
  /// the probabilities (nats), and load of the busiest expert of the token's sequence, relative to an even load. In
  /// replay two shares follow: experts in use that are not the router's choice, and experts in use that the sampler
  /// chose, too (1 for a sequence's last token). **Collective** over cp.
  std::vector<at::Tensor> sums() const;

 private:
  RouterCosts costs_;
  std::shared_ptr<ExpertLoads> loads_;
  int64_t num_routers_;
  double token_weight_, loss_scale_;
  bool replays_;
  at::Tensor slots_, sequences_, ends_;
  int64_t num_sequences_ = 0, tp_ = 1;
  Communicator* cp_ = nullptr;
  std::vector<std::pair<int64_t, at::Tensor>> sums_;  // router's number, and [metrics] float64
};

}  // namespace roll
