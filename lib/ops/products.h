// In which dtype products, sums and statistics of tensors are computed. bfloat16 is multiplied by AMX; elsewhere its
// products are made in float32, whose units are then as fast, and only the rounding of their operands and results is
// bfloat16's.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// The dtype in which statistics, sums and log-probs of x are: float64 for float64, else float32.
at::ScalarType wide_dtype(const at::Tensor& x);

/// Whether matrix products of bfloat16 are faster here than those of float32.
bool multiplies_bfloat16();

/// x in the dtype in which its device multiplies it: float32 for bfloat16 on a CPU without AMX.
at::Tensor multipliable(const at::Tensor& x);

}  // namespace roll
