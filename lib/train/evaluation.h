// Runs only the validations of a training configuration (`roll evaluate`), with the sampler and the rewards.
#pragma once

#include <cstdint>

#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/config.h"

namespace roll {

/// Evaluates the policy on all validations of the configuration. Saves the judged responses of every prompts_per_piece
/// prompts in the run folder, and continues after the saved ones if the folder has some. ranks: all ranks of the job.
/// Throws UserError if a model, data file or reward cannot be loaded, the folder holds checkpoints of a training, or
/// its saved responses were made with other settings. Throws Stopped, with the command to resume, after a signal.
/// **Collective** over `ranks`.
void run_evaluation(const Config& config, const RunFlags& flags, int64_t prompts_per_piece, at::Device device,
                    Communicator& ranks, Log& log);

}  // namespace roll
