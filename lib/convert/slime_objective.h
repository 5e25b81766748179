// slime's objective, the adapters of its branches, and its optimizer.
#pragma once

#include "convert/table.h"

namespace roll {

/// UserError: an objective that is not here.
void combine_slime_objective(Conversion& c);
/// Adapters of the policy, as branches of slime have them; the main branch has none.
void set_slime_adapters(Conversion& c);

}  // namespace roll
