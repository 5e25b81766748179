// Converts verl's rollout_correction for verl.cpp: importance weights and filters against the difference between the
// trainer's and the sampler's log-probs.
#pragma once

#include "convert/table.h"

namespace roll {

/// Sets roll's train_infer_correction. Throws UserError if roll has no such filter, none on that level (token or
/// sequence), or the bounds are invalid.
void combine_verl_correction(Conversion& conversion);

}  // namespace roll
