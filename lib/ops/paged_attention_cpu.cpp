// Up to two queries meet a strip while it is in registers; sums are kept per query and token, so a query's bits do not
// depend on whether it had company.
#include "ops/paged_attention_cpu.h"

#include <algorithm>

#include "ops/simd.h"

namespace roll {

namespace {

constexpr int64_t kStripsAtOnce = 6;  // of keys: with two queries, twelve sums that do not wait for each other

template <int W>
struct Vector {
  typedef float type __attribute__((vector_size(W * sizeof(float)), aligned(alignof(float)), may_alias));
};

int64_t strip_width(int64_t page_size) {
  return page_size % 16 == 0 ? 16 : 8;
}

/// Rows of scores, `stride` apart, of Q queries with N strips of keys [D, W]: the sum over d of q[d] * strip[d][w].
template <int W, int N, int Q>
ROLL_INLINE void score_strips(const float* const* q, const float* const* strips, int64_t head_dim, float* scores,
                              int64_t stride) {
  using V = typename Vector<W>::type;
  V sums[Q][N] = {};
  for (int64_t d = 0; d < head_dim; ++d)
    for (int n = 0; n < N; ++n) {
      const V keys = *reinterpret_cast<const V*>(strips[n] + d * W);
      for (int i = 0; i < Q; ++i) sums[i][n] += q[i][d] * keys;
    }
  for (int i = 0; i < Q; ++i)
    for (int n = 0; n < N; ++n) *reinterpret_cast<V*>(scores + i * stride + n * W) = sums[i][n];
}

template <int W, int Q>
ROLL_INLINE void score_all(const float* const* q, const float* const* strips, int64_t num_strips, int64_t head_dim,
                           float* scores) {
  const int64_t stride = num_strips * W;
  for (; num_strips >= 6; num_strips -= 6, strips += 6, scores += 6 * W)
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

/// scores -> exp(score - largest); their sum.
ROLL_SIMD float exponentiate_scores(float* scores, int64_t length) {
  float top;
  return exponentiate_row(scores, length, top);
}

/// 16 C numbers of each query's output: the weighted values of `length` tokens in strips [W, D]. Even and odd tokens
/// have sums of their own, so that fewer wait for each other.
template <int W, int C, int Q>
ROLL_INLINE void mix_columns(const float* weights, int64_t stride, const float* const* strips, int64_t offset,
                             int64_t length, int64_t head_dim, const float* sums_of_weights, float* const* out) {
  using V = typename Vector<16>::type;
  V sums[Q][2][C] = {};
  for (int64_t j = 0; j < length; ++j) {
    const float* const values = strips[j / W] + j % W * head_dim + offset;
    for (int c = 0; c < C; ++c) {
      const V row = *reinterpret_cast<const V*>(values + 16 * c);
      for (int i = 0; i < Q; ++i) sums[i][0][c] += weights[i * stride + j] * row;
    }
    if (++j == length) break;
    for (int c = 0; c < C; ++c) {
      const V row = *reinterpret_cast<const V*>(values + head_dim + 16 * c);
      for (int i = 0; i < Q; ++i) sums[i][1][c] += weights[i * stride + j] * row;
    }
  }
  for (int i = 0; i < Q; ++i)
    for (int c = 0; c < C; ++c)
      *reinterpret_cast<V*>(out[i] + offset + 16 * c) = (sums[i][0][c] + sums[i][1][c]) / sums_of_weights[i];
}

template <int W, int Q>
ROLL_INLINE void mix_all(const float* weights, int64_t stride, const float* const* strips, int64_t length,
                         int64_t head_dim, const float* sums, float* const* out) {
  int64_t d = 0;
  for (; d + 64 <= head_dim; d += 64) mix_columns<W, 4, Q>(weights, stride, strips, d, length, head_dim, sums, out);
  for (; d + 16 <= head_dim; d += 16) mix_columns<W, 1, Q>(weights, stride, strips, d, length, head_dim, sums, out);
  for (; d < head_dim; ++d)
    for (int i = 0; i < Q; ++i) {
      float parts[2] = {};
      for (int64_t j = 0; j < length; ++j)
        parts[j % 2] += weights[i * stride + j] * strips[j / W][j % W * head_dim + d];
      out[i][d] = (parts[0] + parts[1]) / sums[i];
    }
}

/// Scores, and then outputs, of Q queries of equal length.
#define ROLL_ATTENTION_PARTS(W, Q)                                                                               \
  ROLL_SIMD void score_##W##_##Q(const float* const* q, const float* const* strips, int64_t num_strips,          \
                                 int64_t head_dim, float* scores) {                                              \
    score_all<W, Q>(q, strips, num_strips, head_dim, scores);                                                    \
  }                                                                                                              \
  ROLL_SIMD void mix_##W##_##Q(const float* weights, int64_t stride, const float* const* strips, int64_t length, \
                               int64_t head_dim, const float* sums, float* const* out) {                         \
    mix_all<W, Q>(weights, stride, strips, length, head_dim, sums, out);                                         \
  }
ROLL_ATTENTION_PARTS(16, 1)
ROLL_ATTENTION_PARTS(16, 2)
ROLL_ATTENTION_PARTS(8, 1)
ROLL_ATTENTION_PARTS(8, 2)
#undef ROLL_ATTENTION_PARTS

/// One or two queries of equal length.
void attend_together(std::span<const PagedQuery> queries, int64_t width, int64_t head_dim, AttentionScratch& scratch) {
  const int64_t length = queries[0].length, num_strips = (length + width - 1) / width, row = num_strips * width;
  scratch.scores.resize(static_cast<size_t>(2 * row));
  const bool is_pair = queries.size() == 2, is_wide = width == 16;
  const PagedQuery& last = queries.back();
  const float* const q[] = {queries[0].q, last.q};
  float* const out[] = {queries[0].out, last.out};
  float* const scores = scratch.scores.data();
  const auto score = is_wide ? (is_pair ? score_16_2 : score_16_1) : (is_pair ? score_8_2 : score_8_1);
  score(q, scratch.keys.data(), num_strips, head_dim, scores);
  float sums[2];
  for (size_t i = 0; i < queries.size(); ++i)
    sums[i] = exponentiate_scores(scores + static_cast<int64_t>(i) * row, length);
  const auto mix = is_wide ? (is_pair ? mix_16_2 : mix_16_1) : (is_pair ? mix_8_2 : mix_8_1);
  mix(scores, row, scratch.values.data(), length, head_dim, sums, out);
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
                  AttentionScratch& scratch) {
  const int64_t width = strip_width(pages.page_size), per_page = pages.page_size / width;
  int64_t longest = 0;
  for (const PagedQuery& query : queries) longest = std::max(longest, query.length);
  scratch.keys.clear(), scratch.values.clear();
  for (int64_t n = 0; n * width < longest; ++n) {
    const int64_t offset = table[n / per_page] * pages.page_elements() +
                           (kv_head * pages.page_size + n % per_page * width) * pages.head_dim;
    scratch.keys.push_back(pages.keys + offset), scratch.values.push_back(pages.values + offset);
  }
  for (size_t i = 0; i < queries.size();) {
    const bool is_pair = i + 1 < queries.size() && queries[i + 1].length == queries[i].length;
    attend_together(queries.subspan(i, is_pair ? 2 : 1), width, pages.head_dim, scratch);
    i += is_pair ? 2 : 1;
  }
}

}  // namespace roll
