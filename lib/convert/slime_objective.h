// slime's objective, the adapters of its branches, and its optimizer.
#pragma once

#include "convert/table.h"

namespace roll {

/// UserError: an objective that is not here.
void combine_slime_objective(Conversion& c);

}  // namespace roll
