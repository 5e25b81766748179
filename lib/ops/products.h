// In which dtype products, sums and statistics of tensors are computed. A CPU multiplies bfloat16 as such where it does
// so faster than float32 (AMX, AVX512-BF16), which is measured; elsewhere products are made in float32, and only the
// rounding of their operands and results is bfloat16's. Large products of float32 are oneDNN's where LibTorch's own,
// MKL's, are slower (on an AMD EPYC with AVX-512 these have 0.43 of the speed), measured likewise.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// The dtype in which statistics, sums and log-probs of x are: float64 for float64, else float32.
at::ScalarType wide_dtype(const at::Tensor& x);

/// How many times as fast as LibTorch's products of float32 those of bfloat16 are here: measured once, in some
/// milliseconds. Not against the fastest ones, oneDNN's: a quotient of two measurements near 1 changes with the load of
/// the machine, and a run that goes on would get other bits.
double bfloat16_speedup();

/// Whether the CPU multiplies bfloat16 as such: as was said last, else where that is clearly faster.
bool multiplies_bfloat16();
/// What the ranks of a run agreed on; the bits of its products follow from it.
void multiply_bfloat16(bool as_such);

/// x in the dtype in which its device multiplies it: float32 for bfloat16 on a CPU that does not multiply that.
at::Tensor multipliable(const at::Tensor& x);

/// How many times as fast as LibTorch's own products of float32 oneDNN's are here: measured once; 0: there are none.
double onednn_speedup();
/// Whether large products of float32 are oneDNN's: as was said last, else where these are clearly faster.
bool multiplies_by_onednn();
/// What the ranks of a run agreed on.
void multiply_by_onednn(bool so);

/// a [M, K] b [K, N] in a's dtype.
at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b);

// Of operands that are multiplied as they are:
/// x [M, K] w^T + bias, w [N, K], bias [N] or undefined.
at::Tensor linear_product(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias = {});
/// Into [M, N], columns of something wider, maybe.
void linear_product_out(at::Tensor into, const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias = {});
/// sum [N, K] += d^T x, d [M, N], x [M, K].
void add_product(at::Tensor sum, const at::Tensor& d, const at::Tensor& x);

}  // namespace roll
