// Kernels that take one token through a gated delta net, in float32 on the CPU, for the CPU decoder
// (decode/cpu_decoder.h); ops/delta_rule.h has the equations. Legend: Dk key size, Dv value size.
#pragma once

#include <cstdint>

namespace roll {

/// Adds x[i] * y[i] to out[i], i < width: one tap of the convolution.
void add_product_row(const float* x, const float* y, float* out, int64_t width);

/// Replaces x by silu(x).
void silu_row(float* x, int64_t width);

/// Scales the vector x to the Euclidean length `length`; a vector of zeros stays.
void scale_to_length(float* x, int64_t width, float length);

/// Returns the factor exp(g) by which a state decays, with g = -exp(a_log) log(1 + e^x).
float delta_decay(float a_log, float x);

/// A token's inputs for one value head.
struct DeltaToken {
  const float* q;  // [Dk], scaled to the length 1 / sqrt(Dk)
  const float* k;  // [Dk], scaled to the length 1
  float* v;        // [Dv]; overwritten with the correction rate * (v - k^T S)
  float decay;     // factor of the state: delta_decay()
  float rate;      // strength of the correction
};

/// Updates a value head's `state` [Dk, Dv] with the token, and writes the token's output to `out` [Dv].
void step_state(const DeltaToken& token, float* state, float* out, int64_t key_dim, int64_t value_dim);

}  // namespace roll
