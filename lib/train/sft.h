// Runs `roll sft`, supervised fine-tuning on written answers, and `roll distill`, where the loss also compares with a
// teacher's distributions over tokens. Optimizer, packing and loss aggregation are those of `roll train`.
#pragma once

#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/distill_config.h"
#include "settings/sft_config.h"

namespace roll {

/// Loads the model and rows, then runs max_steps updates, or num_train_epochs passes over the rows, each pass in an
/// order keyed by (seed, epoch); an update may take rows of two passes. ranks: all ranks of the job. Throws UserError
/// if a model or row cannot be loaded, or there are fewer rows than one update needs; Stopped after a signal.
/// **Collective** over `ranks`.
void run_sft(const SftConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log);

/// Does the same with a teacher: before each update, its forward pass computes its likeliest tokens for the update's
/// rows.
void run_distill(const DistillConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log);

}  // namespace roll
