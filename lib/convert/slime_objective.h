// Converts slime's objective, optimizer, and the adapters of its branches, for slime.cpp.
#pragma once

#include "convert/table.h"

namespace roll {

/// Sets the objective. UserError: roll has no such objective.
void combine_slime_objective(Conversion& c);
/// Sets the policy's adapters, which only branches of slime have.
void set_slime_adapters(Conversion& c);

}  // namespace roll
