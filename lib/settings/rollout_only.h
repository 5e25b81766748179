// Completes the configuration of runs that sample, score and write rollouts but train nothing (rollout_only: true),
// like ROLL's AgenticRolloutPipeline. complete() and tools that need training call it.
#pragma once

#include <string>

#include "config/checker.h"
#include "settings/config.h"

namespace roll {

/// If rollout_only is unset, fills it: true if training environments and actor_infer are configured but neither
/// actor_train nor another training key is. Records an error if such a key is set while only actor_train is missing.
/// If the result is true, notes keys that have no effect without training.
void complete_rollout_only(Config& config, Checker& check);

/// If nothing is trained, gives actor_train, which then only holds the weights, the devices and tensor-parallel size of
/// actor_infer; the latter must be complete. Records an error if rollout_replay is set.
void place_policy_at_sampler(Config& config, Checker& check);

/// Throws UserError if `config`, which was read from `file`, only samples. `command`: the tool that needs training, for
/// the message.
void require_training(const Config& config, const std::string& file, const std::string& command);

}  // namespace roll
