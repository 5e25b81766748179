// Converts verl's objective for verl.cpp: advantage estimator, policy loss, aggregation and KLs.
#pragma once

#include "convert/table.h"

namespace roll {

/// Writes roll's keys of the objective to the draft. Throws UserError if roll has no such objective, or if policy loss
/// and KL loss are averaged over tokens in different ways.
void combine_verl_objective(Conversion& c);

}  // namespace roll
