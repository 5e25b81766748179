// Type math_rule: is the answer in the response the ground truth as mathematics?
#pragma once

#include "reward/rule.h"

namespace roll {

struct MathRuleArgs : NoRewardKeys {};

/// 1 when the answer in the response equals the ground truth as mathematics (math/compare.h), else 0. Detail: "answer",
/// "source" (boxed | phrase | latex | number | none), "rule" (which comparison decided).
std::unique_ptr<RewardFunction> make_math_rule(const MathRuleArgs& args, const RuleContext& context);

}  // namespace roll
