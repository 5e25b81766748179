// Computes matrix products for the operators of this folder, and chooses their dtype and library on a CPU. A CPU
// multiplies bfloat16 directly if that is measured to be faster than float32 (with AMX or AVX512-BF16). Otherwise it
// computes in float32, and only operands and results are rounded to bfloat16. Large float32 products use oneDNN if that
// is measured to be faster than LibTorch's default, MKL (on an AMD EPYC with AVX-512, MKL has 0.43 of oneDNN's speed).
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// Returns the dtype for statistics, sums and log-probs of x: float64 for float64, else float32.
at::ScalarType wide_dtype(const at::Tensor& x);

/// Returns the speed of bfloat16 products on this CPU divided by that of LibTorch's default float32 products. The first
/// call measures it, in some milliseconds. The reference is not the fastest float32 (oneDNN's), because a ratio near 1
/// varies with the machine's load, and a resumed run might then choose otherwise and compute other bits.
double bfloat16_speedup();

/// Returns true if the CPU multiplies bfloat16 directly: the last choice of multiply_bfloat16(). If none was made, the
/// first call chooses true if bfloat16_speedup() is above 1.25.
bool multiplies_bfloat16();
/// Sets this process's choice. All ranks of a run must agree, because the bits of products depend on it.
void multiply_bfloat16(bool is_enabled);

/// Returns x in the dtype in which its device multiplies: as float32 if x is bfloat16 on the CPU and
/// multiplies_bfloat16() is false, else x itself.
at::Tensor multipliable(const at::Tensor& x);

/// Returns the speed of oneDNN's float32 products on this CPU divided by that of LibTorch's default ones, measured by
/// the first call; 0 if this LibTorch lacks oneDNN.
double onednn_speedup();
/// Returns true if large float32 products on the CPU use oneDNN: the last choice of multiply_by_onednn(). If none was
/// made, the first call chooses true if onednn_speedup() is above 1.25.
bool multiplies_by_onednn();
/// Sets this process's choice; all ranks of a run must agree.
void multiply_by_onednn(bool is_enabled);

/// Returns a b in a's dtype: a [M, K], b [K, N]. Converts operands with multipliable().
at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b);

// The operands of the functions below must be results of multipliable(), and of one dtype.
/// Returns x w^T + bias, [M, N]: x [M, K], w [N, K], bias [N] or undefined.
at::Tensor linear_product(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias = {});
/// Writes linear_product() into `into` [M, N], which may be columns of a wider tensor.
void linear_product_out(at::Tensor into, const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias = {});
/// Adds d^T x to `sum` [N, K]: d [M, N], x [M, K].
void add_product(at::Tensor sum, const at::Tensor& d, const at::Tensor& x);

}  // namespace roll
