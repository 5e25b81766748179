// Combines several reward types in one domain (key `terms`): the reward is the sum of weight x reward over the terms,
// the score is that of the first term. If a term gives a failed reward (reward.h), the response gets this one, and
// later terms are not asked.
#pragma once

#include "reward/reward.h"

namespace roll {

/// Makes the combined reward of args.terms, which is not empty. `where`, `shared`: as for make_reward(), but `shared`
/// is not null. Throws UserError if a term has no type, if its type needs a model in this program (which scores a whole
/// domain), or like make_rule_with_retries().
std::unique_ptr<RewardFunction> make_terms(const RewardArgs& args, const std::string& where,
                                           const std::shared_ptr<SharedByWorkers>& shared);

}  // namespace roll
