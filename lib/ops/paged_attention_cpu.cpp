// Up to two queries use a strip while it is in registers. Sums are kept per query and token, so a query's bits do not
// depend on the other query.
#include "ops/paged_attention_cpu.h"

#include <algorithm>
#include <cmath>

#include "ops/wide.h"

namespace roll {

namespace {

template <int W, class Number>
struct VectorOf {
  typedef Number type __attribute__((vector_size(W * sizeof(Number)), aligned(alignof(Number)), may_alias));
};
template <int W>
using Floats = typename VectorOf<W, float>::type;

/// Loads W elements from x. (Not as a return value, which would need registers that only some processors have.)
template <int W>
ROLL_INLINE void load(const float* x, Floats<W>& out) {
  out = *reinterpret_cast<const Floats<W>*>(x);
}
template <int W>
ROLL_INLINE void load(const c10::BFloat16* x, Floats<W>& out) {
  using Words = typename VectorOf<W, uint32_t>::type;
  const auto halves = *reinterpret_cast<const typename VectorOf<W, uint16_t>::type*>(x);
  out = reinterpret_cast<Floats<W>>(__builtin_convertvector(halves, Words) << 16);
}

int64_t strip_width(int64_t page_size) {
  return page_size % 16 == 0 ? 16 : 8;
}

/// Writes the scores of Q queries with N strips of keys [D, W], in rows `stride` apart: sum of q[d] strip[d][w].
template <int W, int N, int Q, class T>
ROLL_INLINE void score_strips(const float* const* q, const T* const* strips, int64_t head_dim, float* scores,
                              int64_t stride) {
  using V = Floats<W>;
  V sums[Q][N] = {};
  for (int64_t d = 0; d < head_dim; ++d)
    for (int n = 0; n < N; ++n) {
      V keys;
      load<W>(strips[n] + d * W, keys);
      for (int i = 0; i < Q; ++i) sums[i][n] += q[i][d] * keys;
    }
  for (int i = 0; i < Q; ++i)
    for (int n = 0; n < N; ++n) *reinterpret_cast<V*>(scores + i * stride + int64_t{n} * W) = sums[i][n];
}

template <int W, int Q, class T>
ROLL_INLINE void score_all(const float* const* q, const T* const* strips, int64_t num_strips, int64_t head_dim,
                           float* scores) {
  const int64_t stride = num_strips * W;
  for (; num_strips >= 6; num_strips -= 6, strips += 6, scores += int64_t{6} * W)
    score_strips<W, 6, Q>(q, strips, head_dim, scores, stride);
  switch (num_strips) {
    case 5:
      return score_strips<W, 5, Q>(q, strips, head_dim, scores, stride);
    case 4:
      return score_strips<W, 4, Q>(q, strips, head_dim, scores, stride);
    case 3:
      return score_strips<W, 3, Q>(q, strips, head_dim, scores, stride);
    case 2:
      return score_strips<W, 2, Q>(q, strips, head_dim, scores, stride);
    case 1:
      return score_strips<W, 1, Q>(q, strips, head_dim, scores, stride);
  }
}

/// Replaces scores by exp(score - largest); returns their sum, to which the sink's is added.
ROLL_SIMD float exponentiate_scores(float* scores, int64_t length, float sink) {
  float top;
  const float sum = exponentiate_row(scores, length, top);
  return std::isinf(sink) ? sum : sum + fast_exp(sink - top);
}

/// Writes 16 C elements of each query's output: the weighted values of `length` tokens in strips [W, D]. Even and odd
/// tokens have separate sums, so that fewer additions wait for each other.
template <int W, int C, int Q, class T>
ROLL_INLINE void mix_columns(const float* weights, int64_t stride, const T* const* strips, int64_t offset,
                             int64_t length, int64_t head_dim, const float* weight_sums, T* const* out) {
  using V = Floats<16>;
  V sums[Q][2][C] = {};
  for (int64_t j = 0; j < length; ++j) {
    const T* const values = strips[j / W] + j % W * head_dim + offset;
    for (int c = 0; c < C; ++c) {
      V row;
      load<16>(values + int64_t{16} * c, row);
      for (int i = 0; i < Q; ++i) sums[i][0][c] += weights[i * stride + j] * row;
    }
    if (++j == length) break;
    for (int c = 0; c < C; ++c) {
      V row;
      load<16>(values + head_dim + int64_t{16} * c, row);
      for (int i = 0; i < Q; ++i) sums[i][1][c] += weights[i * stride + j] * row;
    }
  }
  for (int i = 0; i < Q; ++i)
    for (int c = 0; c < C; ++c) {
      const V mixed = (sums[i][0][c] + sums[i][1][c]) / weight_sums[i];
      for (int lane = 0; lane < 16; ++lane) out[i][offset + int64_t{16} * c + lane] = narrow<T>(mixed[lane]);
    }
}

template <int W, int Q, class T>
ROLL_INLINE void mix_all(const float* weights, int64_t stride, const T* const* strips, int64_t length, int64_t head_dim,
                         const float* sums, T* const* out) {
  int64_t d = 0;
  for (; d + 64 <= head_dim; d += 64) mix_columns<W, 4, Q>(weights, stride, strips, d, length, head_dim, sums, out);
  for (; d + 16 <= head_dim; d += 16) mix_columns<W, 1, Q>(weights, stride, strips, d, length, head_dim, sums, out);
  for (; d < head_dim; ++d)
    for (int i = 0; i < Q; ++i) {
      float parts[2] = {};
      for (int64_t j = 0; j < length; ++j)
        parts[j % 2] += weights[i * stride + j] * widen(strips[j / W][j % W * head_dim + d]);
      out[i][d] = narrow<T>((parts[0] + parts[1]) / sums[i]);
    }
}

/// Writes D elements of each query's output, from element `first` on, where values are the first elements of keys, in
/// strips [head size, W]. The last strip may have fewer than W tokens; what lies behind them is not read.
template <int W, int D, int Q, class T>
ROLL_INLINE void mix_key_elements(const float* weights, int64_t stride, const T* const* strips, int64_t first,
                                  int64_t length, const float* sums, T* const* out) {
  using V = Floats<W>;
  const int64_t whole = length / W;
  V mixed[Q][D] = {};
  for (int64_t n = 0; n < whole; ++n)
    for (int d = 0; d < D; ++d) {
      V keys;
      load<W>(strips[n] + (first + d) * W, keys);
      for (int i = 0; i < Q; ++i) mixed[i][d] += *reinterpret_cast<const V*>(weights + i * stride + n * W) * keys;
    }
  for (int i = 0; i < Q; ++i)
    for (int d = 0; d < D; ++d) {
      float sum = 0;
      for (int lane = 0; lane < W; ++lane) sum += mixed[i][d][lane];
      for (int64_t j = whole * W; j < length; ++j)
        sum += weights[i * stride + j] * widen(strips[whole][(first + d) * W + j - whole * W]);
      out[i][first + d] = narrow<T>(sum / sums[i]);
    }
}

/// Like mix_all(), where values are the first elements of keys. Four elements of a strip fill whole cache lines.
template <int W, int Q, class T>
ROLL_INLINE void mix_keys(const float* weights, int64_t stride, const T* const* strips, int64_t length,
                          int64_t value_dim, const float* sums, T* const* out) {
  int64_t d = 0;
  for (; d + 4 <= value_dim; d += 4) mix_key_elements<W, 4, Q>(weights, stride, strips, d, length, sums, out);
  for (; d < value_dim; ++d) mix_key_elements<W, 1, Q>(weights, stride, strips, d, length, sums, out);
}

// score_W_Q() computes scores, and mix_W_Q() and mix_keys_W_Q() outputs, of Q queries of equal length.
// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define ROLL_ATTENTION_PARTS(T, W, Q)                                                                                 \
  ROLL_SIMD void score_##W##_##Q(const float* const* q, const T* const* strips, int64_t num_strips, int64_t head_dim, \
                                 float* scores) {                                                                     \
    score_all<W, Q>(q, strips, num_strips, head_dim, scores);                                                         \
  }                                                                                                                   \
  ROLL_SIMD void mix_##W##_##Q(const float* weights, int64_t stride, const T* const* strips, int64_t length,          \
                               int64_t head_dim, const float* sums, T* const* out) {                                  \
    mix_all<W, Q>(weights, stride, strips, length, head_dim, sums, out);                                              \
  }                                                                                                                   \
  ROLL_SIMD void mix_keys_##W##_##Q(const float* weights, int64_t stride, const T* const* strips, int64_t length,     \
                                    int64_t value_dim, const float* sums, T* const* out) {                            \
    mix_keys<W, Q>(weights, stride, strips, length, value_dim, sums, out);                                            \
  }
#define ROLL_ATTENTION_FOR(T)    \
  ROLL_ATTENTION_PARTS(T, 16, 1) \
  ROLL_ATTENTION_PARTS(T, 16, 2) \
  ROLL_ATTENTION_PARTS(T, 8, 1)  \
  ROLL_ATTENTION_PARTS(T, 8, 2)
ROLL_ATTENTION_FOR(float)
ROLL_ATTENTION_FOR(c10::BFloat16)
#undef ROLL_ATTENTION_FOR
#undef ROLL_ATTENTION_PARTS
// NOLINTEND(bugprone-macro-parentheses)

/// Computes one or two queries of equal length.
template <class T>
void attend_together(std::span<const PagedQuery<T>> queries, int64_t width, const KvPages<T>& pages, float cap,
                     AttentionScratch<T>& scratch) {
  using Score = void (*)(const float* const*, const T* const*, int64_t, int64_t, float*);
  using Mix = void (*)(const float*, int64_t, const T* const*, int64_t, int64_t, const float*, T* const*);
  static constexpr Score kScores[2][2] = {{score_8_1, score_8_2}, {score_16_1, score_16_2}};
  static constexpr Mix kMixes[2][2] = {{mix_8_1, mix_8_2}, {mix_16_1, mix_16_2}};
  static constexpr Mix kKeyMixes[2][2] = {{mix_keys_8_1, mix_keys_8_2}, {mix_keys_16_1, mix_keys_16_2}};
  // Strips before the first seen token are skipped; earlier tokens of its strip get weight 0.
  const int64_t skipped = queries[0].first / width, first = queries[0].first - skipped * width;
  const int64_t length = queries[0].length - skipped * width, num_strips = (length + width - 1) / width,
                row = num_strips * width;
  scratch.scores.resize(static_cast<size_t>(2 * row));
  const bool is_pair = queries.size() == 2, is_wide = width == 16;
  const PagedQuery<T>& last = queries.back();
  const float* const q[] = {queries[0].q, last.q};
  T* const out[] = {queries[0].out, last.out};
  float* const scores = scratch.scores.data();
  kScores[is_wide][is_pair](q, scratch.keys.data() + skipped, num_strips, pages.head_dim, scores);
  float sums[2];
  for (size_t i = 0; i < queries.size(); ++i) {
    float* const query_scores = scores + static_cast<int64_t>(i) * row;
    for (int64_t j = first; cap > 0 && j < length; ++j) query_scores[j] = cap * std::tanh(query_scores[j] / cap);
    sums[i] = exponentiate_scores(query_scores + first, length - first, queries[i].sink);
    std::fill_n(query_scores, first, 0.0f);
  }
  if (pages.values)
    kMixes[is_wide][is_pair](scores, row, scratch.values.data() + skipped, length, pages.head_dim, sums, out);
  else
    kKeyMixes[is_wide][is_pair](scores, row, scratch.keys.data() + skipped, length, pages.value_dim, sums, out);
}

}  // namespace

template <class T>
void store_token(const KvPages<T>& pages, const int32_t* table, int64_t position, const float* k, const float* v) {
  const int64_t width = strip_width(pages.page_size), dim = pages.head_dim, page_offset = position % pages.page_size;
  const int64_t page = table[position / pages.page_size] * pages.page_elements();
  for (int64_t head = 0; head < pages.kv_heads; ++head) {
    const int64_t base = page + head * pages.page_size * dim;
    T* const key = pages.keys + base + page_offset / width * width * dim + page_offset % width;
    for (int64_t d = 0; d < dim; ++d) key[d * width] = narrow<T>(k[head * dim + d]);
    if (!pages.values) continue;
    T* const value = pages.values + base + page_offset * dim;
    for (int64_t d = 0; d < dim; ++d) value[d] = narrow<T>(v[head * dim + d]);
  }
}

template <class T>
void attend_pages(const KvPages<T>& pages, const int32_t* table, int64_t kv_head,
                  std::span<const PagedQuery<T>> queries, AttentionScratch<T>& scratch, float cap) {
  const int64_t width = strip_width(pages.page_size), per_page = pages.page_size / width;
  int64_t longest = 0;
  for (const PagedQuery<T>& query : queries) longest = std::max(longest, query.length);
  scratch.keys.clear(), scratch.values.clear();
  for (int64_t n = 0; n * width < longest; ++n) {
    const int64_t offset = table[n / per_page] * pages.page_elements() +
                           (kv_head * pages.page_size + n % per_page * width) * pages.head_dim;
    scratch.keys.push_back(pages.keys + offset);
    if (pages.values) scratch.values.push_back(pages.values + offset);
  }
  for (size_t i = 0; i < queries.size();) {
    const bool is_pair = i + 1 < queries.size() && queries[i + 1].length == queries[i].length;
    attend_together(queries.subspan(i, is_pair ? 2 : 1), width, pages, cap, scratch);
    i += is_pair ? 2 : 1;
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define ROLL_PAGED_ATTENTION(T)                                                                          \
  template void store_token(const KvPages<T>&, const int32_t*, int64_t, const float*, const float*);     \
  template void attend_pages(const KvPages<T>&, const int32_t*, int64_t, std::span<const PagedQuery<T>>, \
                             AttentionScratch<T>&, float);
ROLL_PAGED_ATTENTION(float)
ROLL_PAGED_ATTENTION(c10::BFloat16)
#undef ROLL_PAGED_ATTENTION
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace roll
