// One token of a gated delta net on the CPU (decode), in float32, one head at a time; ops/delta_rule.h has the
// equations. Legend: Dk key size, Dv value size.
#pragma once

#include <cstdint>

namespace roll {

/// Adds x[i] * y[i] to out[i].
void add_product_row(const float* x, const float* y, float* out, int64_t width);

/// Replaces x by silu(x).
void silu_row(float* x, int64_t width);

/// Scales the vector x to the Euclidean length `length`.
void direct_row(float* x, int64_t width, float length);

/// Returns the decay factor exp(g) = exp(-exp(a_log) log(1 + e^x)).
float delta_decay(float a_log, float x);

struct DeltaToken {
  const float *q, *k;  // [Dk], of length 1 / sqrt(Dk) and 1
  float* v;            // [Dv]; overwritten with the correction b (v - k^T S)
  float decay, rate;   // decay: exp(g)
};

/// Updates `state` [Dk, Dv] with the token and writes the token's output `out` [Dv].
void step_state(const DeltaToken& token, float* state, float* out, int64_t key_dim, int64_t value_dim);

}  // namespace roll
