// Reduces tensors of many ranks that are already in this process; used by the communicators of kinds mpi, tcp and
// threads.
#pragma once

#include <vector>

#include "dist/communicator.h"

namespace roll {

/// Reduces `parts` (one tensor per rank, of equal shapes and dtype) element-wise, in rank order, into `result`, which
/// may be one of the parts. May overwrite parts[0]. bfloat16 and float16 are reduced in float32 and rounded once.
void combine(const std::vector<at::Tensor>& parts, Reduce op, at::Tensor& result);

}  // namespace roll
