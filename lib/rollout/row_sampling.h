// Converts SamplingSettings to the parameters of the sampling kernels (cuda/sampling_math.h), and tracks the tokens
// whose logits penalties and biases change ("touched" tokens). Used where tokens are drawn on the host and on the GPU.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "cuda/sampling_math.h"
#include "rollout/settings.h"

namespace roll {

/// Returns the kernel parameters for one sequence. Sampling is greedy if temperature is 0 or top_k is 1; with
/// temperature 0, log-probs are those of temperature 1.
RowSampling row_sampling(const SamplingSettings& args);

/// Touched tokens of one sequence: tokens with a bias and, if there are penalties, tokens of its prompt and response.
class TokenHistory {
 public:
  /// A history that stays empty.
  TokenHistory() = default;
  /// Begins with the biased tokens of `args` and, if there are penalties, the tokens of the prompt (with count 0).
  TokenHistory(const SamplingSettings& args, std::span<const int64_t> prompt_ids);
  /// Counts a response token; does nothing without penalties.
  void add(int64_t token);

  /// Returns the touched tokens, each once, in no particular order; valid until the next add().
  std::span<const TouchedToken> touched() const { return touched_; }

 private:
  TouchedToken& entry(int64_t token);

  bool is_counting_ = false;
  std::vector<TouchedToken> touched_;
  std::unordered_map<int64_t, size_t> indices_;  // token -> index in touched_
};

}  // namespace roll
