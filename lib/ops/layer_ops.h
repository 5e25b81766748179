// The element-wise pieces of a transformer layer, each one pass over memory on the CPU, forward and backward.
// Statistics and rotations are computed in float32 for bfloat16/float16, in float64 for float64.
// Legend: N rows, T packed tokens, H heads, D head size.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// Rows `ids` [T] of weight [V, E]; gradients of rows that are read often are added up in float32.
at::Tensor embed_rows(const at::Tensor& weight, const at::Tensor& ids);

/// Rows `rows` [N] of x, which may have no data (planned_tensors.h).
at::Tensor select_rows(const at::Tensor& x, const at::Tensor& rows);

/// x / sqrt(mean(x^2) + eps) * (weight + offset) over the last dimension. x [..., E], weight [E].
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, double offset = 0);

/// silu(gate) * up, both [N, I].
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

/// gelu(gate) * up with gelu's approximation by tanh, both [N, I].
at::Tensor geglu(const at::Tensor& gate, const at::Tensor& up);

/// The angles of every token: rows of a small table.
struct Rotation {
  at::Tensor cos, sin;       // [P, R/2] float32
  at::Tensor rows;           // [T] int64 in [0, P): the row of each token
  bool interleaved = false;  // the pairs are (2i, 2i + 1), else (i, i + R/2)
};

/// Angles position * frequency. inverse_frequencies [R/2] float32, positions [P] int64, rows [T] int64. `scale`: of
/// cosines and sines.
Rotation make_rotation(const at::Tensor& inverse_frequencies, const at::Tensor& positions, const at::Tensor& rows,
                       double scale = 1);

/// Rotates the pairs of the first R numbers of each head by its token's angle (Su et al. 2021). x [T, H, D], R <= D.
at::Tensor rotate(const at::Tensor& x, const Rotation& rotation);

}  // namespace roll
