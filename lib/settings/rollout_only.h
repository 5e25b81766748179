// Runs that sample, score and keep rollouts, and train nothing, as ROLL's AgenticRolloutPipeline: the policy lives
// where it is sampled from, and there is no other role of training.
#pragma once

#include <string>

#include "config/checker.h"
#include "settings/config.h"

namespace roll {

/// Fills rollout_only: true where environments and actor_infer are described, and nothing of training is. Complains of
/// a key of training where all but actor_train is described; notes what a run that trains nothing does not read.
void complete_rollout_only(Config& config, Checker& check);

/// Where nothing is trained: gives the policy the devices and tensor ranks of actor_infer, once these are complete.
void place_policy_at_sampler(Config& config, Checker& check);

/// UserError: `config`, which was read from `file`, trains nothing, and `command` is about training.
void require_training(const Config& config, const std::string& file, const std::string& command);

}  // namespace roll
