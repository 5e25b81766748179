// verl's sizes of groups of ranks that share a model.
#pragma once

#include "convert/table.h"

namespace roll {

/// Of all roles; how many ranks share a model that is trained.
int64_t set_verl_layout(Conversion& c);

}  // namespace roll
