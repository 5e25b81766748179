// Converts OpenRLHF's objective (advantages, policy loss, KL, correction, group filter, LR schedule) for openrlhf.cpp.
#pragma once

#include "convert/table.h"

namespace roll {

/// Writes roll's keys of the objective to the draft. Throws UserError if roll has no such objective.
void combine_openrlhf_objective(Conversion& c);

}  // namespace roll
