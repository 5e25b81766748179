// How back-ends that add on the host make one tensor of those of many ranks.
#pragma once

#include <vector>

#include "dist/communicator.h"

namespace roll {

/// Element-wise over `parts` in their order, into `result`, which may be one of them; the first of them is overwritten.
/// Narrow floats are added in float32 and rounded once.
void combine(const std::vector<at::Tensor>& parts, Reduce op, at::Tensor& result);

}  // namespace roll
