// Combines several rewards of one domain: reward = sum of weight x reward. The score is the first term's, unaffected by
// penalties in other terms. If a term fails, the whole reward fails.
#pragma once

#include "reward/reward.h"

namespace roll {

/// Makes the combined reward. `where` and `shared`: as for make_reward(). UserError: as for make_patient_rule(); a term
/// has no type, or its type needs a model and so a separate domain.
std::unique_ptr<RewardFunction> make_terms(const RewardArgs& args, const std::string& where,
                                           const std::shared_ptr<SharedByWorkers>& shared);

}  // namespace roll
