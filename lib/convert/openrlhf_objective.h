// Converts OpenRLHF's objective: advantages, policy loss, KL, correction against vLLM, group filter and LR schedule.
#pragma once

#include "convert/table.h"

namespace roll {

/// Sets the objective. UserError: roll has no such objective.
void combine_openrlhf_objective(Conversion& c);

}  // namespace roll
