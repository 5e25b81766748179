// Compares two evaluations of the same prompts, for `roll evaluate`: computes the difference of their shares of right
// responses, with its standard error. The error comes from the difference at each prompt, so it is usually smaller than
// the errors of the two shares.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "evaluation/estimates.h"

namespace roll {

/// The judged responses to one prompt.
struct JudgedPrompt {
  std::string ground_truth;
  PromptSum right;  // sum: number of right responses; count: number of judged ones, at least 1
};
using JudgedPrompts = std::map<std::string, JudgedPrompt>;  // key: prompt_id

/// Result of compare().
struct Comparison {
  Estimate difference;  // mean over the prompts of: share right in `after` - share right in `before`
  int64_t better = 0, worse = 0, same = 0;  // numbers of prompts with a positive, negative, zero difference
};

/// Compares two evaluations. Returns nullopt if they have different prompt ids or ground truths, or no prompts.
std::optional<Comparison> compare(const JudgedPrompts& before, const JudgedPrompts& after);

/// Returns "AFTER - BEFORE: +0.0300 ± 0.0120 over 200 prompts: 10 better, 4 worse, 186 the same"; `before` and `after`
/// are the names of the two evaluations.
std::string to_text(const Comparison& comparison, const std::string& before, const std::string& after);

}  // namespace roll
