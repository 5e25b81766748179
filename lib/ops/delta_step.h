// A gated delta net's token on the CPU, in float32, a head at a time; ops/delta_rule.h says what is computed.
// Legend: Dk key size, Dv value size.
#pragma once

#include <cstdint>

namespace roll {

/// out[i] += x[i] * y[i].
void add_product_row(const float* x, const float* y, float* out, int64_t width);

/// x = silu(x).
void silu_row(float* x, int64_t width);

/// x divided by its length, times `length`.
void direct_row(float* x, int64_t width, float length);

/// exp(g) = exp(-exp(a_log) log(1 + e^x))
float decay_of(float a_log, float x);

struct DeltaToken {
  const float *q, *k;  // [Dk], of length 1 / sqrt(Dk) and 1
  float* v;            // [Dv]; becomes what the state is corrected by
  float decay, rate;   // decay: exp(g)
};

/// The state before the token, [Dk, Dv], becomes that behind it; `out`, [Dv], is what the token reads.
void step_state(const DeltaToken& token, float* state, float* out, int64_t key_dim, int64_t value_dim);

}  // namespace roll
