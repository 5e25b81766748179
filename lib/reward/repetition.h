// Penalty for responses that repeat themselves, as in ROLL (after "Demystifying Long Chain-of-Thought Reasoning in
// LLMs", arXiv 2502.03373).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/keys.h"

namespace roll {

struct RepetitionPenalty {
  int64_t ngram_size = 3;
  std::optional<double> max_penalty;

  void fields(Keys& v) {
    v("ngram_size", ngram_size, "words of an n-gram", within(1, 1000));
    v("max_penalty", max_penalty,
      "added to the reward: this x the share of n-grams that repeat earlier ones; null: -0.5 for ifeval and "
      "crossthinkqa, else 0",
      within(-1'000'000, 0));
  }
};

/// Returns 1 - distinct n-grams / n-grams, over lower-case words between white space; 0 for fewer than n words.
double repeated_share(std::string_view text, int64_t ngram_size);

}  // namespace roll
