// Reward type environment: passes on the reward that a response has already earned in the environment in which it was
// played (configuration key custom_envs).
#pragma once

#include "reward/rule.h"

namespace roll {

struct EnvironmentRuleArgs : NoRewardKeys {};

/// Makes a reward that returns RewardQuery::from_environment, or a failed reward (reward.h) if that is not set. Both
/// parameters are unused.
std::unique_ptr<RewardFunction> make_environment_rule(const EnvironmentRuleArgs& args, const RuleContext& context);

}  // namespace roll
