// Converts verl's parallel sizes (tensor, pipeline, context, expert), for verl.cpp.
#pragma once

#include "convert/table.h"

namespace roll {

/// Sets the parallel sizes of all roles; returns the number of ranks that share a copy of the trained model (context x
/// tensor x pipeline). Call it after Conversion::set_num_ranks().
int64_t set_verl_layout(Conversion& c);

}  // namespace roll
