// Computes matrix products for the operators of this folder, and chooses their dtype and library on a CPU. The
// processor decides, and no measurement: the bits of a run would depend on the load of its first second, and a run that
// is started again, or goes on, would end with other weights. An x86 CPU with AVX512-BF16 or AMX multiplies bfloat16
// directly. Others compute in float32, and only operands and results are rounded to bfloat16. Large float32 products
// use LibTorch's default, MKL, on Intel's processors and those without AVX-512. Elsewhere they use oneDNN: on AMD EPYCs
// with AVX-512, MKL has 0.43 to 0.95 of oneDNN's speed.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// Returns the dtype for statistics, sums and log-probs of x: float64 for float64, else float32.
at::ScalarType wide_dtype(const at::Tensor& x);

/// Returns true if this processor has units for bfloat16, and LibTorch has the library that uses them.
bool has_bfloat16_units();
/// Returns true if the CPU multiplies bfloat16 directly: the last choice of multiply_bfloat16(), at first
/// has_bfloat16_units().
bool multiplies_bfloat16();
/// Sets this process's choice. All ranks of a run must agree, because the bits of products depend on it.
void multiply_bfloat16(bool is_enabled);

/// Returns x in the dtype in which its device multiplies: as float32 if x is bfloat16 on the CPU and
/// multiplies_bfloat16() is false, else x itself.
at::Tensor multipliable(const at::Tensor& x);

/// Returns true if oneDNN multiplies float32 fastest on this processor, and this LibTorch has it.
bool is_for_onednn();
/// Returns true if large float32 products on the CPU use oneDNN: the last choice of multiply_by_onednn(), at first
/// is_for_onednn().
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
