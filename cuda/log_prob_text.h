// Kernel bodies behind log_prob_rows.h: log-probs and entropies over rows of logits, and their gradient by the logits,
// as templates over Block (lane_block.h), so that tests run them on the CPU. A row is read once, 16 bytes at a time,
// with one exponential per logit. Results are in nats. Shapes use rows and vocab of LogProbRows.
#pragma once

#include <cfloat>

#include "cuda/device_math.h"
#include "cuda/lane_block.h"
#include "cuda/log_prob_rows.h"

namespace roll {

/// Running softmax statistics of some logits of a row (Milakov and Gimelshein 2018, "Online normalizer calculation for
/// softmax"), with the sum that the entropy needs. y = (logit - top) * scale, where scale = log2(e) / temperature, so
/// that 2^y is the probability relative to that of `top`. The initial values are those of no logits.
struct SoftmaxStats {
  float top = -FLT_MAX;  // largest logit so far, before `scale`
  float sum = 0;         // sum of 2^y
  float weighted = 0;    // sum of y 2^y
};

/// Returns max(y, -256), because y may be -infinity where 2^y is 0, and 0 * -infinity is NaN. NaN stays NaN.
ROLL_HOST_DEVICE float bounded_exponent(float y) {
  return y < -256.0f ? -256.0f : y;
}

/// Returns the same statistics relative to another `top`, which must be at least s.top.
ROLL_HOST_DEVICE SoftmaxStats rescaled(const SoftmaxStats& s, float top, float scale) {
  const float shift = bounded_exponent((s.top - top) * scale), factor = float_exp2(shift);
  return {top, s.sum * factor, (s.weighted + s.sum * shift) * factor};
}

/// Returns the statistics of all logits of a and b, two disjoint parts of a row.
ROLL_HOST_DEVICE SoftmaxStats merged(const SoftmaxStats& a, const SoftmaxStats& b, float scale) {
  const float top = larger(a.top, b.top);
  const SoftmaxStats x = rescaled(a, top, scale), y = rescaled(b, top, scale);
  return {top, x.sum + y.sum, x.weighted + y.weighted};
}

/// Returns s with N more logits of the row.
template <int N>
ROLL_HOST_DEVICE SoftmaxStats with_logits(SoftmaxStats s, const Vector<float, N>& logits, float scale) {
  float top = s.top;
  for (const float x : logits.at) top = x > top ? x : top;
  if (top > s.top) s = rescaled(s, top, scale);  // becomes rare within a long row
  for (const float x : logits.at) {
    const float y = bounded_exponent((x - s.top) * scale), weight = float_exp2(y);
    s.sum += weight;
    s.weighted += weight * y;
  }
  return s;
}

constexpr int kRowLanes = 512;  // threads per block

/// Kernel of log_prob_rows_forward(): one block per row.
struct LogProbForward {
  static constexpr int kLanes = kRowLanes;
  template <class>
  using Shared = NoShared;
  cuda::LogProbRows shape;                                               // labels must be in [0, vocab)
  const float* logits = nullptr;                                         // [rows, vocab]
  float *log_probs = nullptr, *entropy = nullptr, *logsumexp = nullptr;  // [rows] each

  int64_t num_blocks() const { return shape.rows; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t row) const {
    const float* const x = logits + row * shape.vocab;
    const float scale = shape.inverse_temperature * kLog2E;
    SoftmaxStats local;
    block.template each_vector<4>(x, shape.vocab,
                                  [&](int64_t, const auto& values) { local = with_logits(local, values, scale); });
    const SoftmaxStats total =
        block.joined(local, [&](const SoftmaxStats& a, const SoftmaxStats& b) { return merged(a, b, scale); });
    if (block.lane() != 0) return;
    const float log_sum = logf(total.sum);
    logsumexp[row] = total.top * shape.inverse_temperature + log_sum;
    entropy[row] = log_sum - kLn2 * total.weighted / total.sum;
    log_probs[row] = (x[shape.labels[row]] - total.top) * shape.inverse_temperature - log_sum;
  }
};

/// Kernel of log_prob_rows_backward(): gradient of the loss by the logits. With z = logit / temperature and p =
/// softmax(z): d log p(label) / dz = [is label] - p, d entropy / dz = -p (log p + entropy), dz / dlogit = 1 /
/// temperature. T: float (gradient may be logits itself) or Bf16. One block per row. With tensor parallelism, a row is
/// this rank's slice of the vocabulary: vocab is the slice's width, and label -1 says that the token is in another
/// rank's slice.
template <class T>
struct LogProbBackward {
  static constexpr int kLanes = kRowLanes;
  template <class>
  using Shared = NoShared;
  cuda::LogProbRows shape;                                   // labels must be in [-1, vocab)
  const float* logits = nullptr;                             // [rows, vocab]
  T* gradient = nullptr;                                     // [rows, vocab]
  const float *logsumexp = nullptr, *entropy = nullptr;      // [rows] each: over the whole vocabulary
  const float *d_log_probs = nullptr, *d_entropy = nullptr;  // [rows] each: gradients by log_probs and entropy

  int64_t num_blocks() const { return shape.rows; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t row) const {
    const int64_t first = row * shape.vocab, label = shape.labels[row];
    const float lse = logsumexp[row], entropy_grad = d_entropy[row], scale = shape.inverse_temperature;
    const float log_prob_grad = d_log_probs[row], constant = log_prob_grad + entropy_grad * entropy[row];
    block.template each_vector<4>(logits + first, shape.vocab, [&](int64_t j, const auto& values) {
      constexpr int kCount = sizeof(values.at) / sizeof(float);
      const auto label_index = static_cast<int32_t>(label - j);  // fits: a vocabulary has at most 2^22 tokens
      Vector<T, kCount> out;
      for (int e = 0; e < kCount; ++e) {
        const float log_p = bounded_exponent(values.at[e] * scale - lse), p = float_exp2(log_p * kLog2E);
        const float label_gradient = e == label_index ? log_prob_grad : 0.0f;
        roll::store(out.at[e], (label_gradient - p * (constant + entropy_grad * log_p)) * scale);
      }
      block.store(gradient + first + j, out);
    });
  }
};

}  // namespace roll
