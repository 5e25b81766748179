// Keys of sampling as the arithmetic of a draw (cuda/sampling_math.h), and the tokens that it touches.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "cuda/sampling_math.h"
#include "rollout/settings.h"

namespace roll {

/// Greedy when the temperature is 0 or top_k is 1; its log-probs are those of temperature 1.
RowSampling row_sampling(const SamplingSettings& args);

/// The tokens of one sequence, as penalties need them, and those with a bias. Costs nothing while there are neither.
class TokenHistory {
 public:
  TokenHistory() = default;
  TokenHistory(const SamplingSettings& args, std::span<const int64_t> prompt_ids);
  void add(int64_t token);

  /// Each token once.
  std::span<const TouchedToken> touched() const { return touched_; }

 private:
  TouchedToken& of(int64_t token);

  bool is_counting_ = false;
  std::vector<TouchedToken> touched_;
  std::unordered_map<int64_t, size_t> places_;  // token -> its place there
};

}  // namespace roll
