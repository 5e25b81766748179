// Converts the objectives of TRL's GRPOTrainer and RLOOTrainer (advantages, policy loss, KL, correction) for trl.cpp.
#pragma once

#include "convert/table.h"

namespace roll {

/// Returns true for RLOOTrainer: the program's name says so, or a key is set that only RLOOTrainer has.
bool is_trl_rloo(const Conversion& c);
/// Sets the objective. UserError: roll has no such objective.
void combine_trl_objective(Conversion& c);

}  // namespace roll
