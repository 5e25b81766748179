// The arithmetic of log-probs over one row of logits, shared by the CUDA kernels and the tests that run on the CPU.
// z = logit / temperature. All quantities are nats.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define ROLL_HOST_DEVICE __host__ __device__
#else
#define ROLL_HOST_DEVICE
#endif

namespace roll {

/// Running softmax statistics of a row (Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"),
/// extended by the sum that the entropy needs. Parts of a row can be merged in any order.
struct SoftmaxStats {
  float top = -INFINITY;  // largest z so far
  float sum = 0;          // sum of exp(z - top)
  float weighted = 0;     // sum of exp(z - top) (z - top)
};

/// The statistics of a row relative to a larger top.
ROLL_HOST_DEVICE inline SoftmaxStats rescaled(const SoftmaxStats& s, float top) {
  if (s.sum == 0) return {top, 0, 0};  // nothing seen: top may be -infinity, whose differences are NaN
  const float shift = s.top - top, factor = expf(shift);
  return {top, s.sum * factor, (s.weighted + s.sum * shift) * factor};
}

ROLL_HOST_DEVICE inline SoftmaxStats merged(const SoftmaxStats& a, const SoftmaxStats& b) {
  const float top = a.top > b.top ? a.top : b.top;
  const SoftmaxStats x = rescaled(a, top), y = rescaled(b, top);
  return {top, x.sum + y.sum, x.weighted + y.weighted};
}

ROLL_HOST_DEVICE inline SoftmaxStats with_value(const SoftmaxStats& s, float z) {
  return merged(s, {z, 1.0f, 0.0f});
}

ROLL_HOST_DEVICE inline float logsumexp_of(const SoftmaxStats& s) {
  return s.top + logf(s.sum);
}

/// log(sum) - weighted / sum: no difference of large numbers, since both are relative to the top.
ROLL_HOST_DEVICE inline float entropy_of(const SoftmaxStats& s) {
  return logf(s.sum) - s.weighted / s.sum;
}

/// What a row's gradient needs.
struct RowGradient {
  float logsumexp, entropy;
  float d_log_prob, d_entropy;  // gradients of the loss by this row's two results
  float inverse_temperature;
};

/// Gradient of the loss by one logit: d log p(label) / dz = [is label] - p, d entropy / dz = -p (log p + entropy).
ROLL_HOST_DEVICE inline float logit_gradient(const RowGradient& row, float logit, bool is_label) {
  const float log_p = logit * row.inverse_temperature - row.logsumexp, p = expf(log_p);
  const float dz = (is_label ? row.d_log_prob : 0.0f) - p * (row.d_log_prob + row.d_entropy * (log_p + row.entropy));
  return dz * row.inverse_temperature;
}

}  // namespace roll
