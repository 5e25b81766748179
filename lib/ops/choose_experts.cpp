#include "ops/choose_experts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace roll {

void choose_experts(const float* logits, int64_t count, int64_t chosen, bool renormalises, int32_t* experts,
                    float* weights) {
  static thread_local std::vector<float> probs;
  static thread_local std::vector<int32_t> order;
  probs.resize(static_cast<size_t>(count));
  order.resize(static_cast<size_t>(count));
  const float largest = *std::max_element(logits, logits + count);
  float sum = 0;
  for (int64_t e = 0; e < count; ++e) sum += probs[e] = std::exp(logits[e] - largest);
  for (float& p : probs) p /= sum;
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + chosen, order.end(),
                    [](int32_t a, int32_t b) { return probs[a] != probs[b] ? probs[a] > probs[b] : a < b; });
  float kept = 0;
  for (int64_t k = 0; k < chosen; ++k) kept += weights[k] = probs[experts[k] = order[k]];
  for (int64_t k = 0; renormalises && k < chosen; ++k) weights[k] /= kept;
}

}  // namespace roll
