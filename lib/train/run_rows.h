// Loads a run's tokenizer and prompts before any model, so that errors in them show early.
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
  RolloutManager::Data sampling_data;
};

/// Loads the policy's tokenizer, and the training prompts unless rollouts are replayed. UserError:
/// open_training_prompts() or PromptStream::quota() fails.
RunRows load_run_rows(const Config& config, RoleSources sources, Log& log);

/// Returns the configuration with max_steps set, also if num_train_epochs decides. UserError: there are fewer rows than
/// one step needs.
Config with_max_steps(Config config, const RunRows& rows);

}  // namespace roll
