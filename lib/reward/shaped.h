// Wraps a type's rule with the penalties and formats shared by all types, in the order given in reward.h.
#pragma once

#include "reward/reward.h"

namespace roll {

/// Returns the wrapped rule; for its arguments see make_reward(). UserError: a format pattern does not compile.
std::unique_ptr<RewardFunction> shaped(std::unique_ptr<RewardFunction> rule, const RewardTraits& traits,
                                       const RewardArgs& args, int64_t response_length, const std::string& where);

/// Returns the number of parts (parts.h) of each reward under this configuration.
int64_t num_reward_parts(const RewardArgs& args);

/// Applies reward_type hard: reward and score become 1 if they are >= 0.5, else 0.
void harden(RewardResult& result);

}  // namespace roll
