// Converts verl's parallel sizes, for verl.cpp.
#pragma once

#include "convert/table.h"

namespace roll {

/// Sets the layout of all roles; returns how many ranks share a trained model.
int64_t set_verl_layout(Conversion& c);

}  // namespace roll
