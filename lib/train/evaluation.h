// Runs `roll evaluate`: the validations of a training configuration without the training.
#pragma once

#include <cstdint>

#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/config.h"

namespace roll {

/// Evaluates the policy on all validations of the configuration, and writes their metrics as step 0. Saves the judged
/// responses piece by piece in the run folder, prompts_per_piece prompts at a time (kept_responses.h). If the folder
/// has saved pieces, continues after them. ranks: all ranks of the job. Throws UserError if a model, data file or
/// reward cannot be loaded, the folder holds checkpoints of a training, or its saved responses were made with other
/// settings. Throws Stopped, with the command to resume, after a signal. **Collective** over `ranks`.
void run_evaluation(const Config& config, const RunFlags& flags, int64_t prompts_per_piece, at::Device device,
                    Communicator& ranks, Log& log);

}  // namespace roll
