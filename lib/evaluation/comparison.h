// Two evaluations of the same prompts: how far apart they are, and how sure that is. The error is of the differences
// prompt by prompt, which is smaller than those of the two means.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "evaluation/estimates.h"

namespace roll {

/// The judged responses of an evaluation to a prompt.
struct JudgedPrompt {
  std::string ground_truth;
  PromptSum right;
};
using JudgedPrompts = std::map<std::string, JudgedPrompt>;  // by prompt_id

struct Comparison {
  Estimate difference;                      // after's share of right responses less before's
  int64_t better = 0, worse = 0, same = 0;  // prompts
};

/// nullopt: they have other prompts.
std::optional<Comparison> compare(const JudgedPrompts& before, const JudgedPrompts& after);

/// "after - before: +0.0300 ± 0.0120 over 200 prompts: 10 better, 4 worse, 186 the same"
std::string to_text(const Comparison& comparison, const std::string& before, const std::string& after);

}  // namespace roll
