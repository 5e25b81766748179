// Scores first, strip by strip for all queries while a strip is in cache; then their exponentials; then the values.
#include "ops/paged_attention_cpu.h"

#include <algorithm>
#include <limits>

#include "ops/simd.h"

namespace roll {

namespace {

constexpr int64_t kStripsAtOnce = 4;  // independent sums: enough to hide a multiply-add's latency

template <int W>
struct Vector {
  typedef float type __attribute__((vector_size(W * sizeof(float)), aligned(alignof(float)), may_alias));
};

int64_t strip_width(int64_t page_size) {
  return page_size % 16 == 0 ? 16 : 8;
}

/// scores of N strips: out[n][w] = sum over d of q[d] * strips[n][d][w]. Strips are a page of memory each, where the
/// processor's own prefetching ends: `ahead` (or null) names those that come next.
template <int W, int N>
ROLL_INLINE void score_strips(const float* q, const float* const* strips, const float* const* ahead, int64_t head_dim,
                              float* out) {
  using V = typename Vector<W>::type;
  V sums[N] = {};
  for (int64_t d = 0; d < head_dim; ++d)
    for (int n = 0; n < N; ++n) {
      sums[n] += q[d] * *reinterpret_cast<const V*>(strips[n] + d * W);
      if (ahead) __builtin_prefetch(ahead[n] + d * W);
    }
  for (int n = 0; n < N; ++n) *reinterpret_cast<V*>(out + n * W) = sums[n];
}

template <int W>
ROLL_INLINE void score_some(const float* q, const float* const* strips, const float* const* ahead, int64_t count,
                            int64_t head_dim, float* out) {
  switch (count) {
    case 4:
      return ahead ? score_strips<W, 4>(q, strips, ahead, head_dim, out)
                   : score_strips<W, 4>(q, strips, nullptr, head_dim, out);
    case 3:
      return score_strips<W, 3>(q, strips, nullptr, head_dim, out);
    case 2:
      return score_strips<W, 2>(q, strips, nullptr, head_dim, out);
    default:
      return score_strips<W, 1>(q, strips, nullptr, head_dim, out);
  }
}

ROLL_SIMD void score_16(const float* q, const float* const* strips, const float* const* ahead, int64_t count,
                        int64_t head_dim, float* out) {
  score_some<16>(q, strips, ahead, count, head_dim, out);
}
ROLL_SIMD void score_8(const float* q, const float* const* strips, const float* const* ahead, int64_t count,
                       int64_t head_dim, float* out) {
  score_some<8>(q, strips, ahead, count, head_dim, out);
}

/// scores -> exp(score - largest); their sum.
ROLL_SIMD float exponentiate_scores(float* scores, int64_t length) {
  float top = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : top)
  for (int64_t j = 0; j < length; ++j) top = scores[j] > top ? scores[j] : top;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < length; ++j) {
    scores[j] = fast_exp(scores[j] - top);
    sum += scores[j];
  }
  return sum;
}

/// C vectors of 16 of the output over one page's values; even and odd tokens have sums of their own, which twice as
/// many multiply-adds can wait for.
template <int C>
ROLL_INLINE void add_columns(const float* weights, const float* values, int64_t count, int64_t head_dim, float* even,
                             float* odd) {
  using V = typename Vector<16>::type;
  V sums[2][C];
  for (int c = 0; c < C; ++c) {
    sums[0][c] = *reinterpret_cast<const V*>(even + 16 * c);
    sums[1][c] = *reinterpret_cast<const V*>(odd + 16 * c);
  }
  int64_t j = 0;
  for (; j + 1 < count; j += 2) {
    for (int c = 0; c < C; ++c) {
      sums[0][c] += weights[j] * *reinterpret_cast<const V*>(values + j * head_dim + 16 * c);
      sums[1][c] += weights[j + 1] * *reinterpret_cast<const V*>(values + (j + 1) * head_dim + 16 * c);
    }
  }
  if (j < count)
    for (int c = 0; c < C; ++c) sums[0][c] += weights[j] * *reinterpret_cast<const V*>(values + j * head_dim + 16 * c);
  for (int c = 0; c < C; ++c) {
    *reinterpret_cast<V*>(even + 16 * c) = sums[0][c];
    *reinterpret_cast<V*>(odd + 16 * c) = sums[1][c];
  }
}

ROLL_SIMD void add_values(const float* weights, const float* values, int64_t count, int64_t head_dim, float* even,
                          float* odd) {
  int64_t d = 0;
  for (; d + 64 <= head_dim; d += 64) add_columns<4>(weights, values + d, count, head_dim, even + d, odd + d);
  for (; d + 16 <= head_dim; d += 16) add_columns<1>(weights, values + d, count, head_dim, even + d, odd + d);
  for (int64_t j = 0; j < count; ++j) {
    float* const sums = j % 2 == 0 ? even : odd;
    for (int64_t i = d; i < head_dim; ++i) sums[i] += weights[j] * values[j * head_dim + i];
  }
}

}  // namespace

void store_token(const KvPages& pages, const int32_t* table, int64_t position, const float* k, const float* v) {
  const int64_t width = strip_width(pages.page_size), dim = pages.head_dim, place = position % pages.page_size;
  const int64_t page = table[position / pages.page_size] * pages.page_elements();
  for (int64_t head = 0; head < pages.kv_heads; ++head) {
    const int64_t base = page + head * pages.page_size * dim;
    float* const key = pages.keys + base + place / width * width * dim + place % width;
    for (int64_t d = 0; d < dim; ++d) key[d * width] = k[head * dim + d];
    std::copy_n(v + head * dim, dim, pages.values + base + place * dim);
  }
}

void attend_pages(const KvPages& pages, const int32_t* table, int64_t kv_head, std::span<const PagedQuery> queries,
                  std::vector<float>& scratch) {
  const int64_t width = strip_width(pages.page_size), dim = pages.head_dim, per_page = pages.page_size / width;
  int64_t longest = 0;
  for (const PagedQuery& query : queries) longest = std::max(longest, query.length);
  const int64_t num_strips = (longest + width - 1) / width, row = num_strips * width;
  scratch.resize(static_cast<size_t>(std::ssize(queries) * row + dim));
  float *const scores = scratch.data(), *const odd = scores + std::ssize(queries) * row;
  const int64_t head = kv_head * pages.page_size * dim;
  const auto score = width == 16 ? score_16 : score_8;
  const auto strip = [&](int64_t n) {
    return pages.keys + table[n / per_page] * pages.page_elements() + head + n % per_page * width * dim;
  };
  for (int64_t first = 0; first < num_strips; first += kStripsAtOnce) {
    const float *strips[kStripsAtOnce], *ahead[kStripsAtOnce];
    const int64_t count = std::min(kStripsAtOnce, num_strips - first);
    for (int64_t n = 0; n < count; ++n) {
      strips[n] = strip(first + n);
      ahead[n] = strip(std::min(first + n + kStripsAtOnce, num_strips - 1));
    }
    for (size_t i = 0; i < queries.size(); ++i) {
      const int64_t seen = (queries[i].length + width - 1) / width - first;
      if (seen > 0)
        score(queries[i].q, strips, i == 0 ? ahead : nullptr, std::min(count, seen), dim,
              scores + static_cast<int64_t>(i) * row + first * width);
    }
  }
  for (size_t i = 0; i < queries.size(); ++i) {
    const auto& [q, out, length] = queries[i];
    float* const weights = scores + static_cast<int64_t>(i) * row;
    const float sum = exponentiate_scores(weights, length);
    std::fill_n(out, dim, 0.0f);
    std::fill_n(odd, dim, 0.0f);
    for (int64_t first = 0; first < length; first += pages.page_size)
      add_values(weights + first, pages.values + table[first / pages.page_size] * pages.page_elements() + head,
                 std::min(pages.page_size, length - first), dim, out, odd);
    for (int64_t d = 0; d < dim; ++d) out[d] = (out[d] + odd[d]) / sum;
  }
}

}  // namespace roll
