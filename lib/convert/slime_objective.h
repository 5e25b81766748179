// Converts slime's objective, optimizer, and the adapters of its branches, for slime.cpp.
#pragma once

#include "convert/table.h"

namespace roll {

/// Writes roll's keys of the objective, adapters and optimizer to the draft. Throws UserError if roll has no such
/// objective or optimizer.
void combine_slime_objective(Conversion& c);
/// Sets the policy's LoRA adapters, for which only branches of slime, not its releases, have keys. Called by
/// combine_slime_objective(). Throws UserError if --use-lora lacks a rank or alpha, or a rank is given without it.
void set_slime_adapters(Conversion& c);

}  // namespace roll
