// Expert routing of mixture-of-experts layers: the rule, and the choice for one token on the CPU, in float32.
#pragma once

#include <cstdint>

namespace roll {

/// Routing rule: softmax over all logits, or a sigmoid per expert (DeepSeek-V3, Liu et al. 2024, section 2.1.2).
struct RoutingRule {
  int64_t count = 0, chosen = 0;  // experts in all, experts per token
  bool is_sigmoid = false;
  bool renormalises = false;  // the chosen experts' probabilities are scaled to sum to 1
  /// Groups of consecutive experts. A token chooses within the groups with the largest sum of their two best scores.
  int64_t groups = 1, chosen_groups = 1;
  double scale = 1;  // factor on the final weights

  int64_t group_size() const { return count / groups; }
  bool operator==(const RoutingRule&) const = default;
};

/// Added to the sum of sigmoid probabilities before dividing by it.
inline constexpr double kLeastSum = 1e-20;

/// Writes the `chosen` experts with the largest probabilities and their weights, the largest first; ties go to the
/// lower index. logits [count]. `bias` [count] or null is added to the probabilities only to compare them (Wang et al.
/// 2024, auxiliary-loss-free load balancing).
void choose_experts(const float* logits, const RoutingRule& rule, const float* bias, int32_t* experts, float* weights);

}  // namespace roll
