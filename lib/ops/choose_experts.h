// Routing in mixtures of experts: the rule, and its computation for one token on the CPU in float32, for the CPU
// decoder. model/experts.h computes the same rule on tensors for training.
#pragma once

#include <cstdint>

namespace roll {

/// The experts with the largest scores are chosen; a score is the expert's probability plus its bias. The weights of
/// the chosen experts are their probabilities, without the bias.
struct RoutingRule {
  int64_t count = 0, chosen = 0;  // number of experts, and of experts that each token uses
  // Probabilities: true: a sigmoid per expert (DeepSeek-V3, Liu et al. 2024, section 2.1.2); false: softmax over all.
  bool is_sigmoid = false;
  bool renormalises = false;  // the weights of a token's chosen experts are divided by their sum
  // Experts are in `groups` equal groups of consecutive ones. A token chooses only among the experts of the
  // `chosen_groups` best groups. Equal numbers: no restriction. A group is as good as the sum of its two largest
  // scores, or with `ranks_by_largest` as its largest score (DeepSeek-V2).
  int64_t groups = 1, chosen_groups = 1;
  bool ranks_by_largest = false;
  double scale = 1;  // factor of the weights, after all else

  /// Experts per group.
  int64_t group_size() const { return count / groups; }
  bool operator==(const RoutingRule&) const = default;
};

/// Added to the sum of the chosen experts' sigmoid probabilities before the weights are divided by it
/// (RoutingRule::renormalises).
inline constexpr double kLeastSum = 1e-20;

/// Chooses experts for one token: writes rule.chosen elements to `experts` (indices) and `weights`, in descending order
/// of score, with the lower index first among equal scores. logits: [count]. bias: [count], or nullptr for zeros (Wang
/// et al. 2024, auxiliary-loss-free load balancing). Thread-safe.
void choose_experts(const float* logits, const RoutingRule& rule, const float* bias, int32_t* experts, float* weights);

}  // namespace roll
