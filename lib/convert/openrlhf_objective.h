// Converts OpenRLHF's objective (advantages, policy loss, KL, correction, group filter, LR schedule) for openrlhf.cpp.
#pragma once

#include "convert/table.h"

namespace roll {

/// Sets the objective. UserError: roll has no such objective.
void combine_openrlhf_objective(Conversion& c);

}  // namespace roll
