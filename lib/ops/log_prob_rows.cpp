#include "ops/log_prob_rows.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <limits>

#include "cuda/log_prob_rows.h"
#include "device/on_device.h"
#include "ops/simd.h"

namespace roll {

namespace {

/// Adds a block's sums of e^y and of e^y y, where y = (x - top) * inverse_temperature.
template <class T>
ROLL_INLINE void add_block(const T* x, int64_t length, T top, T inverse_temperature, bool with_entropy, double& sum,
                           double& weighted) {
  T block_sum = 0, block_weighted = 0;
  if (with_entropy) {
#pragma omp simd reduction(+ : block_sum, block_weighted)
    for (int64_t j = 0; j < length; ++j) {
      const T below = (x[j] - top) * inverse_temperature, weight = fast_exp(below);
      block_sum += weight;
      block_weighted += weight * below;
    }
  } else {
#pragma omp simd reduction(+ : block_sum)
    for (int64_t j = 0; j < length; ++j) block_sum += fast_exp((x[j] - top) * inverse_temperature);
  }
  sum += block_sum;
  weighted += block_weighted;
}

/// Computes one row. Two passes over a row in cache beat one online pass: no branch, no rescaling.
template <class T>
ROLL_INLINE void forward_row(const T* x, int64_t vocab, int64_t label, T inverse_temperature, bool with_entropy,
                             T* log_prob, T* entropy, T* logsumexp) {
  T top = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : top)
  for (int64_t j = 0; j < vocab; ++j) top = x[j] > top ? x[j] : top;
  double sum = 0, weighted = 0;
  for (int64_t j = 0; j < vocab; j += kSummedBlock)
    add_block(x + j, std::min(kSummedBlock, vocab - j), top, inverse_temperature, with_entropy, sum, weighted);
  const double log_sum = std::log(sum), scale = inverse_temperature;
  *logsumexp = static_cast<T>(top * scale + log_sum);
  *log_prob = static_cast<T>((static_cast<double>(x[label]) - top) * scale - log_sum);
  if (with_entropy) *entropy = static_cast<T>(log_sum - weighted / sum);
}

template <class T>
ROLL_INLINE void backward_row(T* x, int64_t vocab, int64_t label, T inverse_temperature, T logsumexp, T entropy,
                              T d_log_prob, T d_entropy) {
#pragma omp simd
  for (int64_t j = 0; j < vocab; ++j) {
    const T log_p = x[j] * inverse_temperature - logsumexp;
    x[j] = -fast_exp(log_p) * (d_log_prob + d_entropy * (log_p + entropy)) * inverse_temperature;
  }
  if (label >= 0) x[label] += d_log_prob * inverse_temperature;
}

#define ROLL_LOG_PROB_ROWS(T, ATTRIBUTE)                                                                         \
  ATTRIBUTE void forward_one(const T* x, int64_t vocab, int64_t label, T inverse_temperature, bool with_entropy, \
                             T* log_prob, T* entropy, T* logsumexp) {                                            \
    forward_row(x, vocab, label, inverse_temperature, with_entropy, log_prob, entropy, logsumexp);               \
  }                                                                                                              \
  ATTRIBUTE void backward_one(T* x, int64_t vocab, int64_t label, T inverse_temperature, T logsumexp, T entropy, \
                              T d_log_prob, T d_entropy) {                                                       \
    backward_row(x, vocab, label, inverse_temperature, logsumexp, entropy, d_log_prob, d_entropy);               \
  }
ROLL_LOG_PROB_ROWS(float, ROLL_SIMD)
ROLL_LOG_PROB_ROWS(double, )
#undef ROLL_LOG_PROB_ROWS

template <class F>
void for_each_row(const at::Tensor& logits, const F& f) {
  const int64_t grain = std::max<int64_t>(1, 16384 / logits.size(1));
  at::parallel_for(0, logits.size(0), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

cuda::LogProbRows cuda_shape(const at::Tensor& logits, const at::Tensor& labels, double temperature) {
  return {labels.const_data_ptr<int64_t>(), logits.size(0), logits.size(1), static_cast<float>(1 / temperature)};
}

}  // namespace

void log_prob_rows(const at::Tensor& logits, const at::Tensor& labels, double temperature, bool with_entropy,
                   const RowResults& results) {
  if (logits.is_cuda())
    return launch_on(logits.device(), [&](void* stream) {
      cuda::log_prob_rows_forward(cuda_shape(logits, labels, temperature), logits.const_data_ptr<float>(),
                                  results.log_probs.mutable_data_ptr<float>(),
                                  results.entropy.mutable_data_ptr<float>(),
                                  results.logsumexp.mutable_data_ptr<float>(), stream);
    });
  AT_DISPATCH_FLOATING_TYPES(logits.scalar_type(), "log_prob_rows", [&] {
    using T = scalar_t;
    const T* x = logits.const_data_ptr<T>();
    const int64_t* label = labels.const_data_ptr<int64_t>();
    T *log_prob = results.log_probs.mutable_data_ptr<T>(), *entropy = results.entropy.mutable_data_ptr<T>(),
      *logsumexp = results.logsumexp.mutable_data_ptr<T>();
    for_each_row(logits, [&](int64_t i) {
      forward_one(x + i * logits.size(1), logits.size(1), label[i], static_cast<T>(1 / temperature), with_entropy,
                  log_prob + i, entropy + i, logsumexp + i);
    });
  });
}

at::Tensor log_prob_rows_gradient(const at::Tensor& logits, const at::Tensor& labels, double temperature,
                                  const RowResults& results, const RowGradients& output_gradients,
                                  at::ScalarType dtype) {
  const at::Tensor d_entropy =
      output_gradients.entropy.defined() ? output_gradients.entropy : at::zeros_like(output_gradients.log_probs);
  const at::Tensor row_entropy =
      output_gradients.entropy.defined() ? results.entropy : d_entropy;  // unwritten entropy is not read
  if (logits.is_cuda()) {
    const at::Tensor gradient = dtype == at::kBFloat16 ? at::empty_like(logits, dtype) : logits;
    const auto launch = [&](auto* out) {
      launch_on(logits.device(), [&](void* stream) {
        cuda::log_prob_rows_backward(cuda_shape(logits, labels, temperature), logits.const_data_ptr<float>(), out,
                                     results.logsumexp.const_data_ptr<float>(), row_entropy.const_data_ptr<float>(),
                                     output_gradients.log_probs.const_data_ptr<float>(),
                                     d_entropy.const_data_ptr<float>(), stream);
      });
    };
    if (dtype == at::kBFloat16)
      launch(static_cast<Bf16*>(gradient.mutable_data_ptr()));
    else
      launch(gradient.mutable_data_ptr<float>());
    return gradient.to(dtype);
  }
  AT_DISPATCH_FLOATING_TYPES(logits.scalar_type(), "log_prob_rows_gradient", [&] {
    using T = scalar_t;
    T* x = logits.mutable_data_ptr<T>();
    const int64_t* label = labels.const_data_ptr<int64_t>();
    const T *logsumexp = results.logsumexp.const_data_ptr<T>(), *entropy = row_entropy.const_data_ptr<T>(),
            *dlp = output_gradients.log_probs.const_data_ptr<T>(), *dent = d_entropy.const_data_ptr<T>();
    for_each_row(logits, [&](int64_t i) {
      backward_one(x + i * logits.size(1), logits.size(1), label[i], static_cast<T>(1 / temperature), logsumexp[i],
                   entropy[i], dlp[i], dent[i]);
    });
  });
  return logits.to(dtype);
}

}  // namespace roll
