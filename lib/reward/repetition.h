// Penalty for responses that repeat themselves, as in ROLL (after "Demystifying Long Chain-of-Thought Reasoning in
// LLMs", arXiv 2502.03373). shaped.cpp adds max_penalty x repeated_share(response) to the reward.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/keys.h"

namespace roll {

/// Configuration keys.
struct RepetitionPenalty {
  int64_t ngram_size = 3;             // in words
  std::optional<double> max_penalty;  // <= 0; 0: no penalty; nullopt: the default of the reward type

  void fields(Keys& v) {
    v("ngram_size", ngram_size, "words of an n-gram", within(1, 1000));
    v("max_penalty", max_penalty,
      "added to the reward: this x the share of n-grams that repeat earlier ones; null: -0.5 for ifeval and "
      "crossthinkqa, else 0",
      within(-1'000'000, 0));
  }
};

/// Returns the share of n-grams of words that repeat an earlier one, 1 - distinct n-grams / all n-grams. Words are
/// separated by white space; ignores letter case. 0 if the text has fewer than `ngram_size` words. `text`: any bytes.
double repeated_share(std::string_view text, int64_t ngram_size);

}  // namespace roll
