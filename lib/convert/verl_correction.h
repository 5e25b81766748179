// algorithm.rollout_correction of verl: weights and filters where sampler and trainer disagree on probabilities.
#pragma once

#include "convert/table.h"

namespace roll {

/// As train_infer_correction. UserError: a filter or level that is not here, or bounds that are none.
void combine_verl_correction(Conversion& conversion);

}  // namespace roll
