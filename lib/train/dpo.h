// Direct preference optimisation: the same learner, packing and layouts as RLVR, over pairs of responses, with a frozen
// reference.
#pragma once

#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/dpo_config.h"

namespace roll {

/// As run_sft(), over pairs, of which each stays in one micro-batch; log-probs of the reference are computed in each
/// update, of its pairs. **Collective**. UserError: see roles.h, pair_rows.h; fewer rows than one update needs. Stopped
/// when a signal came.
void run_dpo(const DpoConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log);

}  // namespace roll
