// Several rewards of one domain: the sum of weight x reward. The score is the first term's, so that penalties beside
// the verdict leave it alone; a term that could not be judged leaves the whole without a verdict.
#pragma once

#include "reward/reward.h"

namespace roll {

/// `where` and `shared` as make_reward(). UserError as make_patient_rule(); a term without a type, or of one whose
/// model needs a domain of its own.
std::unique_ptr<RewardFunction> make_terms(const RewardArgs& args, const std::string& where,
                                           const std::shared_ptr<SharedByWorkers>& shared);

}  // namespace roll
