// Type environment: what a trajectory earned in its environment (custom_envs), turn by turn.
#pragma once

#include "reward/rule.h"

namespace roll {

struct EnvironmentRuleArgs : NoRewardKeys {};

/// The result is the query's own: the environment has given it. A response that was played in none has no verdict.
std::unique_ptr<RewardFunction> make_environment_rule(const EnvironmentRuleArgs& args, const RuleContext& context);

}  // namespace roll
