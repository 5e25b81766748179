// Decoding on the CPU: one query a sequence, so a pass over its keys and one over its values is all there is to save.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <algorithm>
#include <limits>

#include "ops/attention_cpu.h"
#include "ops/parallel_tasks.h"
#include "ops/simd.h"

namespace roll {

namespace {

/// One query against `length` cached rows, `stride` apart. One pass over the keys, one over the values.
template <class T>
ROLL_INLINE void attend_one(const T* q, const T* keys, const T* values, T* out, T* scores, int64_t length,
                            int64_t stride, int64_t width, T scale) {
  T top = -std::numeric_limits<T>::infinity();
  for (int64_t j = 0; j < length; ++j) {
    T dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t d = 0; d < width; ++d) dot += q[d] * keys[j * stride + d];
    scores[j] = dot * scale;
    top = std::max(top, scores[j]);
  }
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < length; ++j) {
    scores[j] = fast_exp(scores[j] - top);
    sum += scores[j];
  }
  std::fill(out, out + width, T(0));
  const T inverse = T(1) / sum;
  for (int64_t j = 0; j < length; ++j) {
    const T weight = scores[j] * inverse;
#pragma omp simd
    for (int64_t d = 0; d < width; ++d) out[d] += weight * values[j * stride + d];
  }
}

ROLL_SIMD void attend(const float* q, const float* k, const float* v, float* out, float* scores, int64_t length,
                      int64_t stride, int64_t width, float scale) {
  attend_one(q, k, v, out, scores, length, stride, width, scale);
}
void attend(const double* q, const double* k, const double* v, double* out, double* scores, int64_t length,
            int64_t stride, int64_t width, double scale) {
  attend_one(q, k, v, out, scores, length, stride, width, scale);
}

}  // namespace

at::Tensor cached_attention_cpu(const at::Tensor& query, const at::Tensor& keys, const at::Tensor& values,
                                at::IntArrayRef slots, const std::vector<int64_t>& lengths, double scale) {
  const at::Tensor q = query.contiguous();
  const int64_t heads = q.size(1), width = q.size(2), kv_heads = keys.size(2), group = heads / kv_heads;
  const int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  at::Tensor out = at::empty_like(q);
  AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "cached_attention_cpu", [&] {
    using T = scalar_t;
    parallel_tasks(
        static_cast<int64_t>(slots.size()), [&] { return std::vector<T>(longest); },
        [&](int64_t b, std::vector<T>& scores) {
          for (int64_t head = 0; head < heads; ++head) {
            const int64_t cached = slots[b] * keys.stride(0) + head / group * width;
            attend(q.const_data_ptr<T>() + (b * heads + head) * width, keys.const_data_ptr<T>() + cached,
                   values.const_data_ptr<T>() + cached, out.mutable_data_ptr<T>() + (b * heads + head) * width,
                   scores.data(), lengths[b], kv_heads * width, width, static_cast<T>(scale));
          }
        });
  });
  return out;
}

}  // namespace roll
