// Type reward_model: the number that a reward model gives to prompt and response. The model runs in this program, on
// all ranks together (collect/reward_models.h), before a RewardFunction is asked; here that number becomes a reward.
#pragma once

#include "reward/rule.h"

namespace roll {

struct RewardModelArgs : NoRewardKeys {
  bool needs_model() const { return true; }
};

std::unique_ptr<RewardFunction> make_reward_model(const RewardModelArgs& args, const RuleContext& context);

}  // namespace roll
