// Wraps a type's rule into the penalties and formats that all types share, in the order that reward.h gives.
#pragma once

#include "reward/reward.h"

namespace roll {

/// `response_length` and `where` as make_reward(). UserError: a format pattern that does not compile.
std::unique_ptr<RewardFunction> shaped(std::unique_ptr<RewardFunction> rule, const RewardTraits& traits,
                                       const RewardArgs& args, int64_t response_length, const std::string& where);

/// How many parts its rewards have.
int64_t num_reward_parts(const RewardArgs& args);

/// reward_type hard: both numbers become 1 from 0.5 on, else 0.
void harden(RewardResult& result);

}  // namespace roll
