// Converts verl's rollout_correction for verl.cpp: importance weights and filters for trainer-sampler mismatch.
#pragma once

#include "convert/table.h"

namespace roll {

/// Sets train_infer_correction. UserError: roll has no such filter or level, or the bounds are invalid.
void combine_verl_correction(Conversion& conversion);

}  // namespace roll
