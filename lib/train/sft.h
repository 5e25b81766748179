// Supervised fine-tuning: the same learner, packing and loss aggregation as RLVR, over rows instead of rollouts. In a
// distillation a teacher is asked about the rows, and the loss reads its answers.
#pragma once

#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/distill_config.h"

namespace roll {

/// Loads model and rows, then runs max_steps updates, or num_train_epochs passes; each pass in an order named by (seed,
/// epoch). The last rows of a pass that do not fill an update open the next one. **Collective**.
/// UserError: see roles.h, sft_rows.h; fewer rows than one update needs. Stopped when a signal came.
void run_sft(const SftConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log);

/// The same with a teacher, which is asked of each update's rows before these are learnt.
void run_distill(const DistillConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log);

}  // namespace roll
