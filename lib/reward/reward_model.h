// Reward type reward_model: the reward is the number that a reward model gives for prompt and response. The model runs
// in this program, on all ranks together, before the RewardFunction is asked (collect/reward_models.h).
#pragma once

#include "reward/rule.h"

namespace roll {

/// Keys of the type: none.
struct RewardModelArgs : NoRewardKeys {
  /// Tells needs_model() in types.h that a model must run first.
  bool needs_model() const { return true; }
};

/// Makes a reward that returns RewardQuery::model_score as reward and score; a failed reward (reward.h) if that is not
/// set, because the response is too long for the model.
std::unique_ptr<RewardFunction> make_reward_model(const RewardModelArgs& args, const RuleContext& context);

}  // namespace roll
