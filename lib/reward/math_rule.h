// Reward type math_rule: compares the answer in the response with the ground truth as mathematics, so that 1/2 equals
// 0.5.
#pragma once

#include "reward/rule.h"

namespace roll {

struct MathRuleArgs : NoRewardKeys {};

/// Makes a reward that is 1 if the answer in the response (math/answer.h) equals the ground truth (math/compare.h),
/// else 0. The detail has "answer"; "source", how it was found; and "rule", the comparison that decided: values of
/// math::Answer and math::Comparison. A comparison that exceeds timeout_s gives a failed reward (reward.h).
std::unique_ptr<RewardFunction> make_math_rule(const MathRuleArgs& args, const RuleContext& context);

}  // namespace roll
