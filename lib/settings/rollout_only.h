// Completes runs that sample, score and keep rollouts but train nothing, like ROLL's AgenticRolloutPipeline. The policy
// lives on the sampler's ranks, and there are no other training roles.
#pragma once

#include <string>

#include "config/checker.h"
#include "settings/config.h"

namespace roll {

/// Fills rollout_only: true if environments and actor_infer are described and no training key is set. Complains about a
/// training key if actor_train alone is missing. Notes keys that a run without training ignores.
void complete_rollout_only(Config& config, Checker& check);

/// If nothing is trained, gives the policy the devices and tensor-parallel size of actor_infer, which must be complete.
void place_policy_at_sampler(Config& config, Checker& check);

/// Checks that `config`, read from `file`, trains. UserError: it only samples, but `command` needs training.
void require_training(const Config& config, const std::string& file, const std::string& command);

}  // namespace roll
