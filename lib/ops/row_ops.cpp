#include "ops/row_ops.h"

#include <cmath>

#include "ops/simd.h"

namespace roll {

ROLL_SIMD void add_to_row(float* x, const float* y, const float* bias, int64_t width) {
  if (bias) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) x[i] += y[i] + bias[i];
  } else {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) x[i] += y[i];
  }
}

ROLL_SIMD void norm_row(const float* x, const float* weight, float* out, int64_t width, float eps) {
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < width; ++i) squares += x[i] * x[i];
  const float scale = 1.0f / std::sqrt(squares / static_cast<float>(width) + eps);
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) out[i] = x[i] * scale * weight[i];
}

ROLL_SIMD void turn_head(float* head, const float* cos, const float* sin, int64_t head_dim) {
  const int64_t half = head_dim / 2;
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    const float first = head[i], second = head[i + half];
    head[i] = first * cos[i] - second * sin[i];
    head[i + half] = second * cos[i] + first * sin[i];
  }
}

ROLL_SIMD void gate_row(const float* gate, const float* up, const float* gate_bias, const float* up_bias, float* out,
                        int64_t width) {
  if (gate_bias) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
      const float g = gate[i] + gate_bias[i];
      out[i] = g / (1.0f + fast_exp(-g)) * (up[i] + up_bias[i]);
    }
  } else {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) out[i] = gate[i] / (1.0f + fast_exp(-gate[i])) * up[i];
  }
}

}  // namespace roll
