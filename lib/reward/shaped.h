// Applies the keys that all reward types share to the reward of a type: hard rewards, the required format, and
// penalties for length and repetition, in the order given in reward.h. Used by make_reward().
#pragma once

#include "reward/reward.h"

namespace roll {

/// Returns a reward that asks `rule` and then applies these keys of `args`. `rule`: a reward of one type with the
/// properties `traits`, or of several terms, with default traits. `response_length`, `where`: as for make_reward().
/// Throws UserError if args.format_pattern does not compile.
std::unique_ptr<RewardFunction> shaped(std::unique_ptr<RewardFunction> rule, const RewardTraits& traits,
                                       const RewardArgs& args, int64_t response_length, const std::string& where);

/// Returns the number of parts (parts.h) that each reward under this configuration has; at least 1.
int64_t num_reward_parts(const RewardArgs& args);

/// Applies reward_type: hard to a result: reward and score become 1 if they are >= 0.5, else 0.
void harden(RewardResult& result);

}  // namespace roll
