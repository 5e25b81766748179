// Operators of a transformer layer between its matrix products, differentiable, for the models. On the CPU each is one
// pass over memory, forward and backward; other devices use LibTorch's operators (fused_layer.h has faster ones).
// Results have the dtype of the input. Inside, the operators compute in float32, or on the CPU for float64 in float64.
// Legend: N rows, T packed tokens, E hidden size, I size inside an MLP, V vocabulary, H heads, D head size, R elements
// of a head that rotate, P positions in a table.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// Returns the rows of weight [V, E] with the indices `ids` [T] int64: [T, E]. On the CPU, backward sums each row's
/// gradients in float32.
at::Tensor embed_rows(const at::Tensor& weight, const at::Tensor& ids);

/// Returns the rows of x with the indices `rows` [N] int64; x may be a meta tensor (planned_tensors.h).
at::Tensor select_rows(const at::Tensor& x, const at::Tensor& rows);

/// Returns x / sqrt(mean(x^2) + eps) * (weight + offset), with the mean over the last dimension: x [..., E], weight
/// [E].
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, double offset = 0);

/// Returns silu(gate) * up, both [N, I].
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

/// Returns gelu(gate) * up with the tanh approximation of gelu, both [N, I].
at::Tensor geglu(const at::Tensor& gate, const at::Tensor& up);

/// Returns gate sigmoid(1.702 gate) (up + 1), where gate is at most 7 and up within -7 and 7 (gpt-oss); both [N, I].
at::Tensor clamped_swiglu(const at::Tensor& gate, const at::Tensor& up);
inline constexpr double kSwigluLimit = 7, kSwigluSlope = 1.702;

/// Cosines and sines of the RoPE angles of every token: a table by position, and each token's row in it.
struct Rotation {
  at::Tensor cos, sin;       // [P, R/2] float32: row p has the angles of pairs i = 0 .. R/2 - 1 at one position
  at::Tensor rows;           // [T] int64 in [0, P): row of each token
  bool interleaved = false;  // true: pair i is elements (2i, 2i + 1) of a head; false: (i, i + R/2)
};

/// Returns a Rotation, not interleaved. Row p has the cosines and sines of the angles positions[p] *
/// inverse_frequencies[i], multiplied by `scale`. inverse_frequencies [R/2] float32 (radians per position,
/// model/rope.h), positions [P] int64, rows [T] int64.
Rotation make_rotation(const at::Tensor& inverse_frequencies, const at::Tensor& positions, const at::Tensor& rows,
                       double scale = 1);

/// Returns x [T, H, D] with the pairs among the first R elements of each head rotated (RoPE, Su et al. 2021); the other
/// elements stay.
at::Tensor rotate(const at::Tensor& x, const Rotation& rotation);

}  // namespace roll
