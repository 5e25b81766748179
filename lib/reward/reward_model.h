// Type reward_model: turns a reward model's output for prompt and response into a reward. The model itself runs in this
// program, on all ranks together, before a RewardFunction is asked (collect/reward_models.h).
#pragma once

#include "reward/rule.h"

namespace roll {

struct RewardModelArgs : NoRewardKeys {
  bool needs_model() const { return true; }
};

/// Makes a reward that returns the query's model_score.
std::unique_ptr<RewardFunction> make_reward_model(const RewardModelArgs& args, const RuleContext& context);

}  // namespace roll
