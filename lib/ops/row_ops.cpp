#include "ops/row_ops.h"

#include <cmath>

#include "ops/layer_ops.h"
#include "ops/wide.h"

namespace roll {

ROLL_SIMD void add_to_row(float* x, const float* y, const float* bias, int64_t width, float scale) {
  if (scale != 1) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) x[i] += scale * (y[i] + (bias ? bias[i] : 0.0f));
  } else if (bias) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) x[i] += y[i] + bias[i];
  } else {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) x[i] += y[i];
  }
}

ROLL_SIMD void rotate_head(float* head, const float* cos, const float* sin, int64_t rotated_size) {
  const int64_t half = rotated_size / 2;
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    const float first = head[i], second = head[i + half];
    head[i] = first * cos[i] - second * sin[i];
    head[i + half] = second * cos[i] + first * sin[i];
  }
}

ROLL_SIMD void rotate_head_interleaved(float* head, const float* cos, const float* sin, int64_t rotated_size) {
  for (int64_t i = 0; i < rotated_size / 2; ++i) {
    const float first = head[2 * i], second = head[2 * i + 1];
    head[2 * i] = first * cos[i] - second * sin[i];
    head[2 * i + 1] = second * cos[i] + first * sin[i];
  }
}

namespace {

template <class T>
ROLL_INLINE void norm_into(const float* x, const float* weight, T* out, int64_t width, float eps) {
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < width; ++i) squares += x[i] * x[i];
  const float scale = 1.0f / std::sqrt(squares / static_cast<float>(width) + eps);
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) out[i] = narrow<T>(x[i] * scale * weight[i]);
}

// Gates g sigmoid(s(g)); negated() returns -s(g). gate() and up() change the operands beforehand.
struct Plain {
  static ROLL_INLINE float gate(float g) { return g; }
  static ROLL_INLINE float up(float u) { return u; }
};
struct Silu : Plain {
  static ROLL_INLINE float negated(float g) { return -g; }
};
struct ClampedSwiglu {
  static constexpr float kLimit = static_cast<float>(kSwigluLimit), kSlope = static_cast<float>(kSwigluSlope);
  static ROLL_INLINE float gate(float g) { return g < kLimit ? g : kLimit; }
  static ROLL_INLINE float up(float u) { return (u < -kLimit ? -kLimit : u > kLimit ? kLimit : u) + 1.0f; }
  static ROLL_INLINE float negated(float g) { return -kSlope * g; }
};
struct GeluTanh : Plain {
  static ROLL_INLINE float negated(float g) {
    constexpr float kTwice = 1.5957691216057308f, kCubic = 0.044715f;  // 2 sqrt(2 / pi); see gated.cpp
    return -kTwice * g * (1.0f + kCubic * g * g);
  }
};

template <class Gate, class T>
ROLL_INLINE void gate_into(const float* gate, const float* up, const float* gate_bias, const float* up_bias, T* out,
                           int64_t width) {
  if (gate_bias) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
      const float g = Gate::gate(gate[i] + gate_bias[i]);
      out[i] = narrow<T>(g / (1.0f + fast_exp(Gate::negated(g))) * Gate::up(up[i] + up_bias[i]));
    }
  } else {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
      const float g = Gate::gate(gate[i]);
      out[i] = narrow<T>(g / (1.0f + fast_exp(Gate::negated(g))) * Gate::up(up[i]));
    }
  }
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define ROLL_ROW_OPS(T)                                                                                             \
  ROLL_SIMD void norm_row(const float* x, const float* weight, T* out, int64_t width, float eps) {                  \
    norm_into(x, weight, out, width, eps);                                                                          \
  }                                                                                                                 \
  ROLL_SIMD void gate_row(const float* gate, const float* up, const float* gate_bias, const float* up_bias, T* out, \
                          int64_t width) {                                                                          \
    gate_into<Silu>(gate, up, gate_bias, up_bias, out, width);                                                      \
  }                                                                                                                 \
  ROLL_SIMD void gelu_gate_row(const float* gate, const float* up, const float* gate_bias, const float* up_bias,    \
                               T* out, int64_t width) {                                                             \
    gate_into<GeluTanh>(gate, up, gate_bias, up_bias, out, width);                                                  \
  }                                                                                                                 \
  ROLL_SIMD void clamped_gate_row(const float* gate, const float* up, const float* gate_bias, const float* up_bias, \
                                  T* out, int64_t width) {                                                          \
    gate_into<ClampedSwiglu>(gate, up, gate_bias, up_bias, out, width);                                             \
  }                                                                                                                 \
  ROLL_SIMD void sigmoid_gate_row(const float* gate, const float* gate_bias, T* x, int64_t width) {                 \
    for (int64_t i = 0; i < width; ++i)                                                                             \
      x[i] = narrow<T>(widen(x[i]) / (1.0f + fast_exp(-(gate[i] + (gate_bias ? gate_bias[i] : 0.0f)))));            \
  }                                                                                                                 \
  ROLL_SIMD void narrow_row(const float* x, T* out, int64_t width) {                                                \
    for (int64_t i = 0; i < width; ++i) out[i] = narrow<T>(x[i]);                                                   \
  }                                                                                                                 \
  ROLL_SIMD void widen_row(const T* x, float* out, int64_t width) {                                                 \
    for (int64_t i = 0; i < width; ++i) out[i] = widen(x[i]);                                                       \
  }
// NOLINTEND(bugprone-macro-parentheses)
ROLL_ROW_OPS(float)
ROLL_ROW_OPS(c10::BFloat16)
#undef ROLL_ROW_OPS

}  // namespace roll
