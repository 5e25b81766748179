// Converts slime's trainings without rewards, for slime.cpp: fine-tuning on given rows, and distillation.
#pragma once

#include "convert/table.h"

namespace roll {

/// Returns true if the rollout function is slime's own for fine-tuning. UserError: a custom rollout function or another
/// loss.
bool is_slime_fine_tuning(const Conversion& c);
/// Converts fine-tuning on the assistant's turns of messages, and removes keys of rewards. Devices and batches must
/// have been set.
void combine_slime_fine_tuning(Conversion& c);
/// Sets how far sampling runs ahead if slime's fully asynchronous rollout is chosen. Devices must have been set.
void combine_slime_rollout(Conversion& c);
/// Sets the KL to a teacher, if there is one. Everything but the roles must have been set.
void combine_slime_distillation(Conversion& c);

}  // namespace roll
