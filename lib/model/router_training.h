// What trains the routers of a mixture beside the loss, and what is measured of them. Both costs are sums over the
// mini-batch's tokens, each with the weight 1 / T, so that no layout changes them:
//   balance  sum over layers and sequences s of T_s / T * N * sum_i f_i P_i (Fedus et al. 2022, eq. 4), where f_i is
//            the share of choices of a sequence's T_s tokens that went to expert i, and P_i their mean probability
//            (of sigmoids divided by a token's sum of them: Liu et al. 2024, eq. 18).
//            Each sequence is balanced in itself, as DeepSeek-V3 and Megatron's seq_aux_loss do it: the counts of the
//            whole mini-batch are known only after its last forward, those of a micro-batch depend on the layout.
//   z        sum over layers of the mean over tokens of logsumexp(logits)^2 (Zoph et al. 2022, eq. 5).
// Where tokens that sequences begin with alike are computed once, they count for each of these sequences.
// The costs' gradients join those of the logits on the way back, whatever recomputes them.
// A bias in the choice of experts is trained by no cost: behind each update it grows by a fixed step where an expert
// had fewer of the mini-batch's tokens than the mean, and shrinks where it had more (Wang et al. 2024, algorithm 1).
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

/// Whom a mini-batch's tokens went to, by which biases move.
class ExpertLoads {
 public:
  explicit ExpertLoads(double step) : step_(step) {}
  /// counts [N] of router `number`, whole numbers.
  void add(int64_t number, const at::Tensor& counts);
  /// Moves the model's biases by a step if the update was made, and forgets. **Collective** over `ranks`, which share
  /// the mini-batch.
  void balance(const Backbone& backbone, bool was_made, Communicator& ranks);

 private:
  double step_;
  std::map<int64_t, at::Tensor> counts_;
};

/// What trains routers: the costs, and where biases are trained, too, what counts for it.
struct RouterRule {
  RouterCosts costs{};
  std::shared_ptr<ExpertLoads> loads = {};
};

/// Behind an update of the model: biases are balanced if it was made. Null: the rule trains none. **Collective** over
/// `ranks`, which share mini-batches. All references must outlive what is given back.
std::function<void(bool was_made)> balancing(const Backbone& backbone, const RouterRule& rule, Communicator& ranks);

/// The tokens of a micro-batch in training, with what trains the routers where the model has some.
PackedTokens with_routers(PackedTokens tokens, const ModelSpec& spec, const RouterRule& rule);

/// Of one micro-batch.
class RouterTraining {
 public:
  /// `num_routers`: of the model. `token_weight`: 1 / T. `loss_scale`: by which the loss is multiplied before it goes
  /// back. `replays`: tokens go through experts that are not the router's own choice.
  RouterTraining(const RouterRule& rule, int64_t num_routers, double token_weight, double loss_scale,
                 bool replays = false)
      : costs_(rule.costs),
        loads_(rule.loads),
        num_routers_(num_routers),
        token_weight_(token_weight),
        loss_scale_(loss_scale),
        replays_(replays) {}

  bool replays() const { return replays_; }
  /// How the micro-batch lies on this rank: token i of sequence sequences[i] in slots[i], [M] int64; `slots` undefined:
  /// 0, 1, 2, ... `ends` [M] int64, not 0: the last of their sequences, which the sampler has drawn and not gone on
  /// from; undefined where nothing is replayed.
  void lie(const at::Tensor& slots, const at::Tensor& sequences, const at::Tensor& ends, int64_t num_sequences,
           const ModelParallel& parallel);

  /// The logits [S, N] of the model's router `number`, to be gone on with; chosen [S, K]: the experts that tokens go
  /// through; own [S, K]: those that the router would have; sampled [S, K]: those that the sampler's router had, where
  /// it replays (-1: not recorded). Once more, as recomputation has it, does not count twice. **Collective** over cp.
  at::Tensor train(const at::Tensor& logits, const at::Tensor& chosen, const at::Tensor& own, const at::Tensor& sampled,
                   int64_t number, bool is_sigmoid);

  std::vector<std::string> names(const std::string& prefix) const;
  /// Under these names, means over the model's layers, 0-dim each, of which those of other stages count as 0 here:
  /// balance and z costs without their coefficients, the entropy of
  /// the probabilities (nats), the load of a sequence's busiest expert over an even one, and where it replays, the
  /// share of the experts gone through that are not the router's own choice, and the share on which sampler and trainer
  /// agree, all tokens counted but those that end a sequence: 1. **Collective** over cp.
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
  std::vector<std::pair<int64_t, at::Tensor>> sums_;  // by router, in the order of the layers: float64 by name
};

}  // namespace roll
