// Steps of the CPU decoder between the matrix products of a layer. Each computes one row, `width` elements of one
// token, in float32 on the calling thread. Outputs that are inputs of the next matrix product are float32 or bfloat16.
// `out` may be the same array as an input of the same type; otherwise it must not overlap inputs.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>

namespace roll {

/// Adds scale * (y[i] + bias[i]) to x[i], in place; a null bias counts as 0.
void add_to_row(float* x, const float* y, const float* bias, int64_t width, float scale = 1);

/// Writes the RMS norm: out = x / sqrt(mean(x^2) + eps) * weight.
void norm_row(const float* x, const float* weight, float* out, int64_t width, float eps);
void norm_row(const float* x, const float* weight, c10::BFloat16* out, int64_t width, float eps);

/// Applies RoPE in place to a head's first rotated_size = R elements: rotates the pairs (i, i + R/2). cos, sin: [R/2].
void rotate_head(float* head, const float* cos, const float* sin, int64_t rotated_size);
/// Like rotate_head(), for the pairs (2i, 2i + 1).
void rotate_head_interleaved(float* head, const float* cos, const float* sin, int64_t rotated_size);

/// Writes out = silu(gate + gate_bias) * (up + up_bias); the biases are both set or both null.
void gate_row(const float* gate, const float* up, const float* gate_bias, const float* up_bias, float* out,
              int64_t width);
void gate_row(const float* gate, const float* up, const float* gate_bias, const float* up_bias, c10::BFloat16* out,
              int64_t width);

/// Like gate_row(), with the tanh approximation of gelu instead of silu.
void gelu_gate_row(const float* gate, const float* up, const float* gate_bias, const float* up_bias, float* out,
                   int64_t width);
void gelu_gate_row(const float* gate, const float* up, const float* gate_bias, const float* up_bias, c10::BFloat16* out,
                   int64_t width);

/// Like gate_row(), for clamped_swiglu() (layer_ops.h).
void clamped_gate_row(const float* gate, const float* up, const float* gate_bias, const float* up_bias, float* out,
                      int64_t width);
void clamped_gate_row(const float* gate, const float* up, const float* gate_bias, const float* up_bias,
                      c10::BFloat16* out, int64_t width);

/// Applies attention's output gate in place: x *= sigmoid(gate + gate_bias); a null bias counts as 0.
void sigmoid_gate_row(const float* gate, const float* gate_bias, float* x, int64_t width);
void sigmoid_gate_row(const float* gate, const float* gate_bias, c10::BFloat16* x, int64_t width);

/// Converts x to the output's dtype.
void narrow_row(const float* x, float* out, int64_t width);
void narrow_row(const float* x, c10::BFloat16* out, int64_t width);

/// Converts x to float32.
void widen_row(const float* x, float* out, int64_t width);
void widen_row(const c10::BFloat16* x, float* out, int64_t width);

}  // namespace roll
