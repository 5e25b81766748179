// Compares two evaluations of the same prompts (`roll evaluate`): their difference and its standard error. The error
// comes from per-prompt differences, so it is smaller than the errors of the two means.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "evaluation/estimates.h"

namespace roll {

/// The ground truth of a prompt and the number of right responses to it.
struct JudgedPrompt {
  std::string ground_truth;
  PromptSum right;
};
using JudgedPrompts = std::map<std::string, JudgedPrompt>;  // key: prompt_id

struct Comparison {
  Estimate difference;                      // share of right responses: after - before
  int64_t better = 0, worse = 0, same = 0;  // numbers of prompts
};

/// Compares prompt by prompt. Returns nullopt if prompt ids or ground truths differ, or if there are no prompts.
std::optional<Comparison> compare(const JudgedPrompts& before, const JudgedPrompts& after);

/// Formats as "after - before: +0.0300 ± 0.0120 over 200 prompts: 10 better, 4 worse, 186 the same".
std::string to_text(const Comparison& comparison, const std::string& before, const std::string& after);

}  // namespace roll
