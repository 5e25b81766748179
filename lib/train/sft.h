// Trains by supervised fine-tuning (`roll sft`) and distillation (`roll distill`): the learner, packing and loss
// aggregation of RLVR, over rows. In a distillation the loss also reads a teacher's distributions.
#pragma once

#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/distill_config.h"
#include "settings/sft_config.h"

namespace roll {

/// Loads the model and rows, then runs max_steps updates or num_train_epochs passes, each in an order keyed by (seed,
/// epoch). An update may take rows of two passes. **Collective**. UserError: see roles.h, sft_rows.h; or
/// there are fewer rows than one update needs. Throws Stopped after a signal.
void run_sft(const SftConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log);

/// Runs like run_sft(), with a teacher's forward over each update's rows first.
void run_distill(const DistillConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log);

}  // namespace roll
