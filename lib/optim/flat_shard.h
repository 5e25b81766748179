// What a tensor rank trains of a parameter, from shapes alone.
#pragma once

#include "model/spec.h"
#include "optim/flat_layout.h"

namespace roll {

/// Of tensor rank `rank` of `size`.
FlatParameter flat_shard(const ParameterShape& parameter, int64_t rank, int64_t size);

}  // namespace roll
