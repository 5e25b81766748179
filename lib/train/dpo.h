// Trains by direct preference optimisation (`roll dpo`): the learner, packing and layouts of RLVR, over pairs of
// responses with a frozen reference.
#pragma once

#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/dpo_config.h"

namespace roll {

/// Runs like run_sft(), over pairs; both responses stay in one micro-batch, and each update computes its reference
/// log-probs. **Collective**. UserError: see roles.h, pair_rows.h; or there are fewer rows than one update needs.
/// Throws Stopped after a signal.
void run_dpo(const DpoConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log);

}  // namespace roll
