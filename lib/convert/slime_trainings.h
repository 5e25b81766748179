// Converts slime's fine-tuning on given rows, asynchronous rollout, and distillation, for slime.cpp.
#pragma once

#include "convert/table.h"

namespace roll {

/// Returns true if rollout-function-path is slime's function for fine-tuning. Throws UserError for a rollout function
/// that is not slime's, a loss that does not fit the function, and training without advantages or on recorded
/// responses.
bool is_slime_fine_tuning(const Conversion& c);
/// Turns the draft for `roll train` into one for `roll sft`, which trains on the assistant's messages: renames
/// actor_train to sft_train and removes the keys of rewards. Call it after devices and batches are set.
void combine_slime_fine_tuning(Conversion& c);
/// If slime's fully asynchronous rollout is chosen, sets async_generation_ratio to 1; else does nothing. Throws
/// UserError if sampling and training share GPUs.
void combine_slime_rollout(Conversion& c);
/// Sets distillation from a teacher if use-opd is true. Call it after everything else but before set_roles(). Throws
/// UserError if rewards are processed by custom Python code.
void combine_slime_distillation(Conversion& c);

}  // namespace roll
