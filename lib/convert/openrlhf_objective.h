// OpenRLHF's objective: advantages, policy loss, KL, weights against vLLM, the filter of groups and the schedule.
#pragma once

#include "convert/table.h"

namespace roll {

/// UserError: an objective that is not here.
void combine_openrlhf_objective(Conversion& c);

}  // namespace roll
