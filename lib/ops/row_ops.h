// What stands between the products of a layer when few rows are sampled: each works on one row, in float32, and rounds
// its result to the dtype of the next product's input. Legend: E width, D head size.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>

namespace roll {

/// x[i] += y[i] + bias[i] (bias may be null).
void add_to_row(float* x, const float* y, const float* bias, int64_t width);

/// out = x / sqrt(mean(x^2) + eps) * weight.
void norm_row(const float* x, const float* weight, float* out, int64_t width, float eps);
void norm_row(const float* x, const float* weight, c10::BFloat16* out, int64_t width, float eps);

/// The pairs (i, i + D/2) turned by the row's angles; cos and sin [D/2]. In place.
void rotate_head(float* head, const float* cos, const float* sin, int64_t head_dim);

/// gate = silu(gate + gate_bias) * (up + up_bias) into `out`; biases may be null.
void gate_row(const float* gate, const float* up, const float* gate_bias, const float* up_bias, float* out,
              int64_t width);
void gate_row(const float* gate, const float* up, const float* gate_bias, const float* up_bias, c10::BFloat16* out,
              int64_t width);

/// x in float32.
void widen_row(const float* x, float* out, int64_t width);
void widen_row(const c10::BFloat16* x, float* out, int64_t width);

}  // namespace roll
