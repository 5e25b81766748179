// Matrix products whose rows do not depend, to the bit, on how many other rows are computed with them: what a response
// is must not depend on which responses were sampled beside it, on this rank or on another.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// x [N, ...] with rows of zeros added where N is small on the CPU; other devices and larger N give x itself.
/// Measured with the MKL of LibTorch 2.11 (N up to 512, 1 to 16 threads): products of fewer than 4 rows per thread take
/// other kernels, which round differently; from there on a row's bits are always the same.
at::Tensor with_stable_rows(const at::Tensor& x);

}  // namespace roll
