// The validations of a configuration alone: a sampler and its rewards, and nothing that only training needs.
#pragma once

#include <cstdint>

#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/config.h"

namespace roll {

/// Measures the policy on all validations, whose judged responses are kept `prompts_of_piece` prompts at a time, as a
/// run of no steps. **Collective**. UserError: run_rlvr()'s; a folder that holds a training's checkpoints; one whose
/// responses were made otherwise. Stopped when a signal came, with the command that goes on.
void run_evaluation(const Config& config, const RunFlags& flags, int64_t prompts_of_piece, at::Device device,
                    Communicator& ranks, Log& log);

}  // namespace roll
