// Matrix products, and the dtype and library that compute them. A CPU multiplies bfloat16 directly if it measures
// faster than float32 (AMX, AVX512-BF16). Otherwise products are computed in float32, and only operands and results are
// rounded to bfloat16. Large float32 products use oneDNN if it measures faster than LibTorch's default, MKL (on
// an AMD EPYC with AVX-512, MKL has 0.43 of oneDNN's speed).
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// Returns the dtype for statistics, sums and log-probs of x: float64 for float64, else float32.
at::ScalarType wide_dtype(const at::Tensor& x);

/// Returns the speed of bfloat16 products relative to LibTorch's float32 products, measured once in some milliseconds.
/// The reference is not the fastest float32, oneDNN's: a ratio near 1 varies with the machine's load, and a resumed run
/// would then compute other bits.
double bfloat16_speedup();

/// True if the CPU multiplies bfloat16 directly: the last multiply_bfloat16(), or else true if clearly faster.
bool multiplies_bfloat16();
/// Sets the choice that the ranks of a run agreed on; the bits of products depend on it.
void multiply_bfloat16(bool is_enabled);

/// Returns x in the dtype in which its device multiplies: float32 for bfloat16 on a CPU without fast bfloat16.
at::Tensor multipliable(const at::Tensor& x);

/// Returns the speed of oneDNN's float32 products relative to LibTorch's own, measured once; 0: LibTorch lacks oneDNN.
double onednn_speedup();
/// True if large float32 products use oneDNN: the last multiply_by_onednn(), or else true if clearly faster.
bool multiplies_by_onednn();
/// Sets the choice that the ranks of a run agreed on.
void multiply_by_onednn(bool is_enabled);

/// Returns a b in a's dtype: a [M, K], b [K, N].
at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b);

// The functions below do not convert their operands; see multipliable().
/// Returns x w^T + bias: x [M, K], w [N, K], bias [N] or undefined.
at::Tensor linear_product(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias = {});
/// Writes linear_product() into `into` [M, N], which may be columns of a wider tensor.
void linear_product_out(at::Tensor into, const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias = {});
/// Adds d^T x to `sum` [N, K]: d [M, N], x [M, K].
void add_product(at::Tensor sum, const at::Tensor& d, const at::Tensor& x);

}  // namespace roll
