// Adds to the reward of a type the keys that all types share: hard rewards, the required format, and penalties for
// length and repetition, in the order given in reward.h. make_reward() uses it.
#pragma once

#include "reward/reward.h"

namespace roll {

/// Wraps `rule`, the reward of one type or of several terms, whose traits are `traits`, with these keys of `args`.
/// `response_length`, `where`: as for make_reward(). Throws UserError if args.format_pattern does not compile.
std::unique_ptr<RewardFunction> shaped(std::unique_ptr<RewardFunction> rule, const RewardTraits& traits,
                                       const RewardArgs& args, int64_t response_length, const std::string& where);

/// Returns the number of parts (parts.h) that each reward under this configuration has; at least 1.
int64_t num_reward_parts(const RewardArgs& args);

/// Applies reward_type: hard to a result: reward and score become 1 if they are >= 0.5, else 0.
void harden(RewardResult& result);

}  // namespace roll
