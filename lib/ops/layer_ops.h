// Element-wise parts of a transformer layer, for the models. On the CPU each is one pass over memory, forward and
// backward; on other devices they use LibTorch's operators.
// Statistics and rotations are computed in float32 for bfloat16/float16, in float64 for float64.
// Legend: N rows, T packed tokens, H heads, D head size.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// Returns rows `ids` [T] of weight [V, E]. On the CPU, backward sums each row's gradients in float32.
at::Tensor embed_rows(const at::Tensor& weight, const at::Tensor& ids);

/// Returns rows `rows` [N] of x; x may be a tensor without data (planned_tensors.h).
at::Tensor select_rows(const at::Tensor& x, const at::Tensor& rows);

/// Returns x / sqrt(mean(x^2) + eps) * (weight + offset) over the last dimension. x [..., E], weight [E].
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, double offset = 0);

/// Returns silu(gate) * up, both [N, I].
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

/// Returns gelu(gate) * up with the tanh approximation of gelu, both [N, I].
at::Tensor geglu(const at::Tensor& gate, const at::Tensor& up);

/// RoPE angles of every token, as rows of a small table.
struct Rotation {
  at::Tensor cos, sin;       // [P, R/2] float32
  at::Tensor rows;           // [T] int64 in [0, P): the row of each token
  bool interleaved = false;  // rotates pairs (2i, 2i + 1); else (i, i + R/2)
};

/// Returns the table of angles position * frequency; cosines and sines are multiplied by `scale`. inverse_frequencies
/// [R/2] float32, positions [P] int64, rows [T] int64.
Rotation make_rotation(const at::Tensor& inverse_frequencies, const at::Tensor& positions, const at::Tensor& rows,
                       double scale = 1);

/// Returns x with RoPE (Su et al. 2021) on the first R elements of each head. x [T, H, D], R <= D.
at::Tensor rotate(const at::Tensor& x, const Rotation& rotation);

}  // namespace roll
