// Reduces the tensors of many ranks on the host; back-ends without device collectives use it.
#pragma once

#include <vector>

#include "dist/communicator.h"

namespace roll {

/// Reduces `parts` element-wise, in order, into `result`, which may be one of the parts; overwrites the first part.
/// Narrow floats are added in float32 and rounded once.
void combine(const std::vector<at::Tensor>& parts, Reduce op, at::Tensor& result);

}  // namespace roll
