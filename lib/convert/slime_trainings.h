// What slime trains beside rewards: rows that are given, and from a teacher.
#pragma once

#include "convert/table.h"

namespace roll {

/// Whether rollouts are slime's own of fine-tuning. UserError: they are made by other Python, or the loss is another.
bool is_slime_fine_tuning(const Conversion& c);
/// Rows of messages, whose assistant's turns are learnt; devices and batches must have been set. What is of rewards
/// goes.
void combine_slime_fine_tuning(Conversion& c);
/// How far sampling runs ahead of training, where slime's own asynchronous rollout is asked for; devices must have been
/// set.
void combine_slime_rollout(Conversion& c);
/// The KL to a teacher, where there is one; all but the roles must have been set.
void combine_slime_distillation(Conversion& c);

}  // namespace roll
