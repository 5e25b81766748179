// The RLVR pipeline: rollout -> rewards -> log-probs and values -> advantages -> critic and actor updates, step by
// step. All ranks know the facts of a step and so all plans; its sequences are where they were sampled or are trained.
#pragma once

#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/config.h"

namespace roll {

/// Loads models and data, then runs max_steps steps with validations and checkpoints; with rollout_only each step ends
/// with its scores, and a checkpoint says where the prompts stand. **Collective**.
/// UserError: see run_start.h, roles.h, prompts.h, group_quota.h; a replay that does not fit the configuration. Stopped
/// when a signal came: what was done is saved.
void run_rlvr(const Config& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log);

}  // namespace roll
