// Completes configurations of runs that sample, score and write rollouts but train nothing (rollout_only: true), like
// ROLL's AgenticRolloutPipeline. The first two functions are steps of load_config().
#pragma once

#include <string>

#include "config/checker.h"
#include "settings/config.h"

namespace roll {

/// If rollout_only is unset, fills it: true if training environments and actor_infer are configured but neither
/// actor_train nor another training key is. Records an error if such a key is set while only actor_train is missing.
/// If the result is true, notes keys that have no effect without training.
void complete_rollout_only(Config& config, Checker& check);

/// If nothing is trained, actor_train only holds the weights for the sampler. Copies the devices and tensor-parallel
/// size of actor_infer to it, and the dtype if no key of actor_train is set. actor_infer must be complete. Records an
/// error if rollout_replay is set. Does nothing for runs that train.
void place_policy_at_sampler(Config& config, Checker& check);

/// Throws UserError if `config` trains nothing. The message names its `file` and the `command` that needs training.
void require_training(const Config& config, const std::string& file, const std::string& command);

}  // namespace roll
