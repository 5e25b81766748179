// Runs only the validations of a configuration (`roll evaluate`), with a sampler and rewards but without training.
#pragma once

#include <cstdint>

#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/config.h"

namespace roll {

/// Evaluates the policy on all validations and saves judged responses every `prompts_per_piece` prompts, as a run
/// without steps. **Collective**. UserError: see run_rlvr(); the folder holds a training's checkpoints; or its saved
/// responses were made with other settings. Throws Stopped, with the command to resume, after a signal.
void run_evaluation(const Config& config, const RunFlags& flags, int64_t prompts_per_piece, at::Device device,
                    Communicator& ranks, Log& log);

}  // namespace roll
