#include "ops/choose_experts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace roll {

namespace {

/// Sorts the indices of the `kept` largest scores to the front of `order`, the largest first; ties: lower index first.
void rank_best(const std::vector<float>& scores, int64_t kept, std::vector<int32_t>& order) {
  order.resize(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                    [&](int32_t a, int32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
}

void set_probabilities(const float* logits, const RoutingRule& rule, std::vector<float>& probs) {
  probs.resize(static_cast<size_t>(rule.count));
  if (rule.is_sigmoid) {
    for (int64_t e = 0; e < rule.count; ++e) probs[e] = 1 / (1 + std::exp(-logits[e]));
    return;
  }
  const float largest = *std::max_element(logits, logits + rule.count);
  float sum = 0;
  for (int64_t e = 0; e < rule.count; ++e) sum += probs[e] = std::exp(logits[e] - largest);
  for (float& p : probs) p /= sum;
}

/// Sets the scores of experts outside the best groups to -infinity.
void mask_other_groups(const RoutingRule& rule, std::vector<float>& scores) {
  static thread_local std::vector<float> group_scores;
  static thread_local std::vector<int32_t> order;
  group_scores.clear();
  for (int64_t begin = 0; begin < rule.count; begin += rule.group_size()) {
    float best = scores[begin], next = -std::numeric_limits<float>::infinity();
    for (int64_t e = begin + 1; e < begin + rule.group_size(); ++e) {
      next = std::max(next, std::min(best, scores[e]));
      best = std::max(best, scores[e]);
    }
    group_scores.push_back(rule.ranks_by_largest ? best : best + next);
  }
  rank_best(group_scores, rule.groups, order);
  for (int64_t left_out = rule.chosen_groups; left_out < rule.groups; ++left_out)
    std::fill_n(scores.begin() + order[left_out] * rule.group_size(), rule.group_size(),
                -std::numeric_limits<float>::infinity());
}

}  // namespace

void choose_experts(const float* logits, const RoutingRule& rule, const float* bias, int32_t* experts, float* weights) {
  static thread_local std::vector<float> probs, scores;
  static thread_local std::vector<int32_t> order;
  set_probabilities(logits, rule, probs);
  scores = probs;
  for (int64_t e = 0; bias && e < rule.count; ++e) scores[e] += bias[e];
  if (rule.chosen_groups < rule.groups) mask_other_groups(rule, scores);
  rank_best(scores, rule.chosen, order);
  float kept = 0;
  for (int64_t k = 0; k < rule.chosen; ++k) kept += weights[k] = probs[experts[k] = order[k]];
  if (rule.is_sigmoid) kept += static_cast<float>(kLeastSum);
  for (int64_t k = 0; rule.renormalises && k < rule.chosen; ++k) weights[k] /= kept;
  for (int64_t k = 0; rule.scale != 1 && k < rule.chosen; ++k) weights[k] *= static_cast<float>(rule.scale);
}

}  // namespace roll
