// The element-wise pieces of a transformer layer, each one pass over memory on the CPU, forward and backward.
// Statistics and rotations are computed in float32 for bfloat16/float16, in float64 for float64.
// Legend: N rows, T packed tokens, H heads, D head size.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// x / sqrt(mean(x^2) + eps) * weight over the last dimension. x [..., E], weight [E].
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

/// silu(gate) * up, both [N, I].
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

/// Cosines and sines of position * frequency: [P, D/2] float32 each, row p for position p.
struct RotaryTable {
  at::Tensor cos, sin;
};

RotaryTable make_rotary_table(const at::Tensor& inverse_frequencies, int64_t num_positions);

/// Turns the pairs (i, i + D/2) of each head by the angle of its token's position (Su et al. 2021, HF's half layout).
/// x [T, H, D], positions [T] int64.
at::Tensor rotate(const at::Tensor& x, const RotaryTable& table, const at::Tensor& positions);

}  // namespace roll
