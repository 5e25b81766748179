// Converts the objectives of TRL's GRPOTrainer and RLOOTrainer (advantages, policy loss, KL, correction) for trl.cpp.
#pragma once

#include "convert/table.h"

namespace roll {

/// Returns true if the settings are RLOOTrainer's: the program's name says so, or a key is set that GRPOTrainer lacks.
bool is_trl_rloo(const Conversion& c);
/// Writes roll's keys of the objective to the draft. Throws UserError if roll has no such objective.
void combine_trl_objective(Conversion& c);

}  // namespace roll
