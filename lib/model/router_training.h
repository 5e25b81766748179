// Trains and measures the routers of a mixture of experts, beside the loss. Both costs are sums over the mini-batch's
// tokens, each with the weight 1 / T, so that no layout changes them:
//   balance  sum over layers and sequences s of T_s / T * N * sum_i f_i P_i (Fedus et al. 2022, eq. 4), where f_i is
//            the share of choices of a sequence's T_s tokens that went to expert i, and P_i their mean probability
//            (a token's sigmoids are divided by their sum: Liu et al. 2024, eq. 18).
//            Each sequence is balanced in itself, like DeepSeek-V3 and Megatron's seq_aux_loss: the counts of the
//            whole mini-batch are known only after its last forward, those of a micro-batch depend on the layout.
//   z        sum over layers of the mean over tokens of logsumexp(logits)^2 (Zoph et al. 2022, eq. 5).
// Tokens of a shared prefix, computed once, count for each sequence that has it.
// The costs' gradients join those of the logits in backward, also under recomputation.
// Biases in the choice of experts are trained by no cost: after each update a bias grows by a fixed step if its expert
// had fewer of the mini-batch's tokens than the mean, and shrinks if it had more (Wang et al. 2024, algorithm 1).
// Legend: S slots of this rank, M tokens of sequences that lie there, T tokens of the mini-batch, N experts, K chosen
// by each token.
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

struct RouterCosts {
  double balance = 0, z = 0;  // coefficients
  bool any() const { return balance > 0 || z > 0; }
};

class Backbone;
class RouterTraining;
struct ModelSpec;
struct PackedTokens;

/// Tokens per expert in a mini-batch; they decide how the biases change.
class ExpertLoads {
 public:
  explicit ExpertLoads(double step) : step_(step) {}
  /// Adds counts [N], whole numbers, of router `number`.
  void add(int64_t number, const at::Tensor& counts);
  /// Moves the model's biases by a step if the update was made, and clears the counts. **Collective** over `ranks`,
  /// which share the mini-batch.
  void balance(const Backbone& backbone, bool was_made, Communicator& ranks);

 private:
  double step_;
  std::map<int64_t, at::Tensor> counts_;
};

/// Costs of routers; loads if biases are trained, too.
struct RouterRule {
  RouterCosts costs{};
  std::shared_ptr<ExpertLoads> loads = {};
};

/// Returns a function to call after each update: it balances biases if the update was made. Null if the rule trains
/// none. It is **collective** over `ranks`, which share mini-batches; all references must outlive it.
std::function<void(bool was_made)> balancing(const Backbone& backbone, const RouterRule& rule, Communicator& ranks);

/// Returns a micro-batch's tokens, with RouterTraining if the model has routers and is trained.
PackedTokens with_routers(PackedTokens tokens, const ModelSpec& spec, const RouterRule& rule);

/// Router costs and measurements of one micro-batch.
class RouterTraining {
 public:
  /// `num_routers`: the model's. `token_weight`: 1 / T. `loss_scale`: factor of the loss before backward. `replays`:
  /// tokens use experts that are not the router's own choice.
  RouterTraining(const RouterRule& rule, int64_t num_routers, double token_weight, double loss_scale,
                 bool replays = false)
      : costs_(rule.costs),
        loads_(rule.loads),
        num_routers_(num_routers),
        token_weight_(token_weight),
        loss_scale_(loss_scale),
        replays_(replays) {}

  bool replays() const { return replays_; }
  /// Sets the micro-batch's layout on this rank: token i, of sequence sequences[i], is in slots[i], [M] int64; `slots`
  /// undefined: 0, 1, 2, ... `ends` [M] int64, not 0: last tokens of sequences, which the sampler drew but never ran;
  /// undefined without replay.
  void set_layout(const at::Tensor& slots, const at::Tensor& sequences, const at::Tensor& ends, int64_t num_sequences,
                  const ModelParallel& parallel);

  /// Returns the logits [S, N] of the model's router `number`, to be used from here on. chosen [S, K]: experts in use;
  /// router_choice [S, K]: the router's choice; sampled [S, K]: the sampler's choice in replay (-1: not recorded). A
  /// repeated call, under recomputation, does not count twice. **Collective** over cp.
  at::Tensor train(const at::Tensor& logits, const at::Tensor& chosen, const at::Tensor& router_choice,
                   const at::Tensor& sampled, int64_t number, bool is_sigmoid);

  /// Returns the metrics' names, in the order of sums().
  std::vector<std::string> names(const std::string& prefix) const;
  /// Returns one 0-dim mean over the model's layers per name; layers of other stages count as 0 here. They are: balance
  /// and z costs without coefficients; entropy of the probabilities (nats); load of a sequence's busiest expert over an
  /// even one. In replay also: the share of experts in use that are not the router's choice, and the share on which
  /// sampler and trainer agree, where a sequence's last token counts as 1. **Collective** over cp.
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
  std::vector<std::pair<int64_t, at::Tensor>> sums_;  // per router, in the order of layers: float64 by name
};

}  // namespace roll
