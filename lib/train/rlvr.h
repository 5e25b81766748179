// Runs `roll train`: reinforcement learning with verifiable rewards. A step is: rollout -> rewards -> log-probs and
// values -> advantages -> updates of critic and actor. All ranks know a step's facts and plans; a sequence's tokens are
// only on the ranks that sample it or train on it.
#pragma once

#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/config.h"

namespace roll {

/// Loads models and data, then runs max_steps steps (or num_train_epochs passes) with validations and checkpoints. With
/// the key rollout_only, each step ends with its scores, and checkpoints store only the position in the prompts. ranks:
/// all ranks of the job. Throws UserError if the run folder, checkpoint or replayed rollouts do not fit the
/// configuration, or a model or data file cannot be loaded. Throws it also if a step cannot be filled from the prompts
/// of the domains. Throws Stopped after a signal; finished work is saved. **Collective** over `ranks`.
void run_rlvr(const Config& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log);

}  // namespace roll
