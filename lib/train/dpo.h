// Runs `roll dpo`: direct preference optimisation on pairs of a chosen and a rejected response, with a frozen reference
// model. Optimizer, packing and parallel layouts are those of `roll train`.
#pragma once

#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/dpo_config.h"

namespace roll {

/// Loads the models and pairs, then runs the configured updates, validations and checkpoints. Both responses of a pair
/// stay in one micro-batch; before each update the reference computes the log-probs of the update's pairs. ranks: all
/// ranks of the job. Throws UserError if a model or row cannot be loaded, or there are fewer pairs than one update
/// needs; Stopped after a signal. **Collective** over `ranks`.
void run_dpo(const DpoConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log);

}  // namespace roll
