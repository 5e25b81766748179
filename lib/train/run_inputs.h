// Loads the tokenizer and prompts of `roll train` before any model, so that errors in them show early. Used by
// rlvr.cpp.
#pragma once

#include "base/log.h"
#include "collect/rollout_manager.h"
#include "settings/config.h"
#include "step/roles.h"
#include "text/tokenizer.h"

namespace roll {

struct RunInputs {
  RoleSources sources;                 // model folders of the roles
  Tokenizer tokenizer;                 // the policy's
  RolloutManager::Data sampling_data;  // training prompts, none with rollout_replay; the caller adds the validations
};

/// Loads the policy's tokenizer, and the training prompts unless rollouts are replayed (rollout_replay). Each rank
/// calls it; no communication. Throws UserError if a data file cannot be read, no row is left, or a domain's share of a
/// step is less than one prompt. Throws it also if a row is malformed or does not fit its reward.
RunInputs load_run_inputs(const Config& config, RoleSources sources, Log& log);

/// Returns `config` with max_steps set. If it was null, it becomes the number of whole steps in num_train_epochs passes
/// over the loaded prompts. Without prompts (rollout_replay), returns `config` unchanged. Throws UserError if the
/// passes give less than one step.
Config with_max_steps(Config config, const RunInputs& inputs);

}  // namespace roll
