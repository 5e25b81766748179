// How a router chooses experts, and its choice for one token on the CPU, in float32.
#pragma once

#include <cstdint>

namespace roll {

/// Softmax over all logits, or of each expert a sigmoid of its own (DeepSeek-V3, Liu et al. 2024, section 2.1.2).
struct RoutingRule {
  int64_t count = 0, chosen = 0;  // experts, and of these a token's
  bool is_sigmoid = false;
  bool renormalises = false;  // the probabilities of those chosen, so that they sum to 1
  /// Runs of experts, of which a token chooses from those with the largest sums of their two best.
  int64_t groups = 1, chosen_groups = 1;
  double scale = 1;  // of the weights at last

  int64_t group_size() const { return count / groups; }
  bool operator==(const RoutingRule&) const = default;
};

/// The denominator's least, where probabilities do not sum to 1.
inline constexpr double kLeastSum = 1e-20;

/// Of logits [count] the experts with the largest probabilities, the largest first, of equal ones that with the lower
/// number first, and their weights. `bias` [count] joins the probabilities where they are compared, and nowhere else
/// (Wang et al. 2024, auxiliary-loss-free load balancing); null: there is none.
void choose_experts(const float* logits, const RoutingRule& rule, const float* bias, int32_t* experts, float* weights);

}  // namespace roll
