#include "ops/delta_step.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "ops/simd.h"

namespace roll {

namespace {

constexpr float kLengthEps = 1e-6f;  // same as in delta_rule.cpp
constexpr int64_t kStrip = 32;       // columns of a state whose sums stay in registers

/// Updates `width` (at most kStrip) adjacent columns of the state and computes their outputs.
template <class Width>
ROLL_INLINE void step_strip(const DeltaToken& token, float* state, float* out, int64_t key_dim, int64_t stride,
                            Width width) {
  float read[kStrip] = {}, sum[kStrip] = {};
  for (int64_t i = 0; i < key_dim; ++i) {
    const float* const row = state + i * stride;
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) read[j] += token.k[i] * row[j];
  }
#pragma omp simd
  for (int64_t j = 0; j < width; ++j) token.v[j] = token.rate * (token.v[j] - token.decay * read[j]);
  for (int64_t i = 0; i < key_dim; ++i) {
    float* const row = state + i * stride;
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      row[j] = token.decay * row[j] + token.k[i] * token.v[j];
      sum[j] += token.q[i] * row[j];
    }
  }
  std::copy_n(sum, static_cast<int64_t>(width), out);
}

}  // namespace

ROLL_SIMD void add_product_row(const float* x, const float* y, float* out, int64_t width) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) out[i] += x[i] * y[i];
}

ROLL_SIMD void silu_row(float* x, int64_t width) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) x[i] /= 1.0f + fast_exp(-x[i]);
}

ROLL_SIMD void scale_to_length(float* x, int64_t width, float length) {
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < width; ++i) squares += x[i] * x[i];
  const float scale = length / std::sqrt(squares + kLengthEps);
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) x[i] *= scale;
}

float delta_decay(float a_log, float x) {
  const float softplus = x > 20 ? x : std::log1p(std::exp(x));  // above 20, x is exact to the last bit
  return std::exp(-std::exp(a_log) * softplus);
}

ROLL_SIMD void step_state(const DeltaToken& token, float* state, float* out, int64_t key_dim, int64_t value_dim) {
  for (int64_t j = 0; j < value_dim; j += kStrip) {
    DeltaToken part = token;
    part.v += j;
    if (j + kStrip <= value_dim)
      step_strip(part, state + j, out + j, key_dim, value_dim, std::integral_constant<int64_t, kStrip>());
    else
      step_strip(part, state + j, out + j, key_dim, value_dim, value_dim - j);
  }
}

}  // namespace roll
