// What a run samples from, loaded before any model, so that what is wrong with it is known early.
#pragma once

#include "base/log.h"
#include "collect/rollout_manager.h"
#include "settings/config.h"
#include "step/roles.h"
#include "text/tokenizer.h"

namespace roll {

struct RunRows {
  RoleSources sources;
  Tokenizer tokenizer;
  RolloutManager::Data of_sampling;
};

/// The policy's tokenizer, and the training prompts, unless the configuration replays rollouts. UserError: as
/// open_training_prompts() and PromptStream::quota().
RunRows load_run_rows(const Config& config, RoleSources sources, Log& log);

/// The configuration with max_steps, also where num_train_epochs decides. UserError: fewer rows than one step has.
Config with_max_steps(Config config, const RunRows& rows);

}  // namespace roll
