// Steps of a configuration without their training: prompts -> rollouts -> scores, by a sampler and its rewards alone.
#pragma once

#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/config.h"

namespace roll {

/// Samples max_steps steps, each as a training with these weights would sample it. A checkpoint says where the prompts
/// stand. **Collective**. UserError: run_rlvr()'s. Stopped when a signal came: what was done is saved.
void run_rollout_only(const Config& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log);

}  // namespace roll
