// Type environment: the reward that a trajectory earned in its environment (custom_envs), turn by turn.
#pragma once

#include "reward/rule.h"

namespace roll {

struct EnvironmentRuleArgs : NoRewardKeys {};

/// Makes a reward that returns the query's from_environment. A response without an environment is a failed reward.
std::unique_ptr<RewardFunction> make_environment_rule(const EnvironmentRuleArgs& args, const RuleContext& context);

}  // namespace roll
