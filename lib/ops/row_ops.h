// What stands between the products of a layer when few rows are sampled: each works on one row, in float32, and rounds
// its result to the dtype of the next product's input. Legend: E width, D head size.
#pragma once

#include <cstdint>

namespace roll {

/// x[i] += y[i] + bias[i] (bias may be null).
void add_to_row(float* x, const float* y, const float* bias, int64_t width);

/// out = x / sqrt(mean(x^2) + eps) * weight.
void norm_row(const float* x, const float* weight, float* out, int64_t width, float eps);

/// The pairs (i, i + D/2) turned by the row's angles; cos and sin [D/2]. In place.
void turn_head(float* head, const float* cos, const float* sin, int64_t head_dim);

/// gate = silu(gate + gate_bias) * (up + up_bias) into `out`; biases may be null.
void gate_row(const float* gate, const float* up, const float* gate_bias, const float* up_bias, float* out,
              int64_t width);

}  // namespace roll
