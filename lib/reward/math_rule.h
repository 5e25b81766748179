// Type math_rule: compares the answer in the response with the ground truth as mathematics.
#pragma once

#include "reward/rule.h"

namespace roll {

struct MathRuleArgs : NoRewardKeys {};

/// Makes a reward that is 1 if the answer in the response equals the ground truth as mathematics (math/compare.h), else
/// 0. Detail: "answer", "source" (boxed | phrase | latex | number | none), "rule" (the comparison that decided).
std::unique_ptr<RewardFunction> make_math_rule(const MathRuleArgs& args, const RuleContext& context);

}  // namespace roll
