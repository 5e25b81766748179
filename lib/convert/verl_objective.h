// Converts verl's objective for verl.cpp: advantage estimator, policy loss, aggregation and KLs.
#pragma once

#include "convert/table.h"

namespace roll {

/// Sets the objective. UserError: roll has no such objective, or its parts are aggregated in different ways.
void combine_verl_objective(Conversion& c);

}  // namespace roll
