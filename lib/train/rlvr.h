// RLVR pipeline (`roll train`): rollout -> rewards -> log-probs and values -> advantages -> critic and actor updates,
// step by step. All ranks know a step's facts and plans; its sequences stay where they are sampled or trained.
#pragma once

#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/config.h"

namespace roll {

/// Loads models and data, then runs max_steps steps with validations and checkpoints. With rollout_only, each step ends
/// with its scores, and checkpoints store only the prompts' position. **Collective**. UserError: see run_start.h,
/// roles.h, prompts.h, group_quota.h; or a replay does not fit the configuration. Throws Stopped after a signal;
/// finished work is saved.
void run_rlvr(const Config& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log);

}  // namespace roll
