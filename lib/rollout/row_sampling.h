// Converts SamplingSettings to the parameters of the sampling kernels (cuda/sampling_math.h), and tracks the tokens
// that penalties and biases change.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "cuda/sampling_math.h"
#include "rollout/settings.h"

namespace roll {

/// Returns the kernel parameters. Greedy if temperature is 0 or top_k is 1; temperature 0 gives log-probs of
/// temperature 1.
RowSampling row_sampling(const SamplingSettings& args);

/// Token counts of one sequence for penalties, and token biases. Stays empty without penalties and biases.
class TokenHistory {
 public:
  TokenHistory() = default;
  TokenHistory(const SamplingSettings& args, std::span<const int64_t> prompt_ids);
  /// Counts a drawn token.
  void add(int64_t token);

  /// Returns the tokens with a count or a bias, each once.
  std::span<const TouchedToken> touched() const { return touched_; }

 private:
  TouchedToken& entry(int64_t token);

  bool is_counting_ = false;
  std::vector<TouchedToken> touched_;
  std::unordered_map<int64_t, size_t> indices_;  // token -> index in touched_
};

}  // namespace roll
