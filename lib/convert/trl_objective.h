// The objectives of TRL's GRPOTrainer and RLOOTrainer: advantages, policy loss, KL, weights against vLLM.
#pragma once

#include "convert/table.h"

namespace roll {

/// Whether the keys are RLOOTrainer's: the program that has them says so, or they are no others'.
bool is_trl_rloo(const Conversion& c);
/// UserError: an objective that is not here.
void combine_trl_objective(Conversion& c);

}  // namespace roll
