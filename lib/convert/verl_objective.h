// verl's objective: its advantage estimator, its policy loss with what aggregates it, and its KLs.
#pragma once

#include "convert/table.h"

namespace roll {

/// UserError: an objective that is not here, or one of which parts are aggregated in different ways.
void combine_verl_objective(Conversion& c);

}  // namespace roll
