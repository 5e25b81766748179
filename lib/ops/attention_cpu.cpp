#include "ops/attention_backends.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ops/block_product.h"
#include "ops/parallel_tasks.h"
#include "ops/simd.h"

namespace roll {

namespace {

constexpr int64_t kQueryBlock = 64;

/// Rounds `columns` up to whole vectors: the length of a row of scores or of transposed keys.
int64_t padded(int64_t columns) {
  return (columns + kVectorColumns - 1) / kVectorColumns * kVectorColumns;
}

/// Transposes x [count, width] to [width, padded(count)] in `buffer`, with zeros as padding, for products with x^T.
template <class T>
Rows<const T> transposed(Rows<const T> x, int64_t count, int64_t width, T* buffer) {
  const int64_t stride = padded(count);
  for (int64_t begin = 0; begin < stride; begin += kVectorColumns)
    for (int64_t d = 0; d < width; ++d)
      for (int64_t j = begin; j < begin + kVectorColumns; ++j)
        buffer[d * stride + j] = j < count ? x.data[j * x.stride + d] : T(0);
  return {buffer, stride};
}

/// The keys [first, end) that a query sees, among the `length` keys of its block.
struct Seen {
  int64_t first, end, length;
};

template <class T>
ROLL_INLINE void clear_unseen(T* scores, Seen seen) {
  std::fill(scores, scores + seen.first, T(0));
  std::fill(scores + seen.end, scores + seen.length, T(0));
}

/// Replaces seen scores by their softmax and the others by 0, so that products may run over the row. Returns logsumexp.
template <class T>
ROLL_INLINE T softmax_row(T* scores, Seen seen) {
  T top;
  const T sum = exponentiate_row(scores + seen.first, seen.end - seen.first, top);
  const T inverse = T(1) / sum;
  for (int64_t j = seen.first; j < seen.end; ++j) scores[j] *= inverse;
  clear_unseen(scores, seen);
  return top + std::log(sum);
}

/// Replaces scores by probabilities, given their logsumexp.
template <class T>
ROLL_INLINE void probability_row(T* scores, T logsumexp, Seen seen) {
  for (int64_t j = seen.first; j < seen.end; ++j) scores[j] = fast_exp(scores[j] - logsumexp);
  clear_unseen(scores, seen);
}

/// Replaces each score by cap tanh(score / cap).
template <class T>
void cap_scores(T* scores, Seen seen, T cap) {
  for (int64_t j = seen.first; j < seen.end; ++j) scores[j] = cap * std::tanh(scores[j] / cap);
}

/// Changes dP so that score_gradient() gives the gradient by the uncapped scores.
template <class T>
void uncap_gradients(const T* scores, T* grads, T delta, Seen seen, T cap) {
  for (int64_t j = seen.first; j < seen.end; ++j) {
    const T part = scores[j] / cap;
    grads[j] = delta + (grads[j] - delta) * (T(1) - part * part);
  }
}

template <class T>
T dot(const T* x, const T* y, int64_t width) {
  T sum = 0;
  for (int64_t d = 0; d < width; ++d) sum += x[d] * y[d];
  return sum;
}

/// Overwrites dP with dS = P (dP - sum(dO O)) scale.
template <class T>
ROLL_INLINE void score_gradient_row(const T* probabilities, T* grads, const T* dout, const T* out, int64_t width,
                                    int64_t length, T scale) {
  T delta = 0;
#pragma omp simd reduction(+ : delta)
  for (int64_t d = 0; d < width; ++d) delta += dout[d] * out[d];
  for (int64_t j = 0; j < length; ++j) grads[j] = probabilities[j] * (grads[j] - delta) * scale;
}

ROLL_SIMD float softmax(float* scores, Seen seen) {
  return softmax_row(scores, seen);
}
double softmax(double* scores, Seen seen) {
  return softmax_row(scores, seen);
}
ROLL_SIMD void probability(float* scores, float lse, Seen seen) {
  probability_row(scores, lse, seen);
}
void probability(double* scores, double lse, Seen seen) {
  probability_row(scores, lse, seen);
}
ROLL_SIMD void score_gradient(const float* p, float* g, const float* dout, const float* out, int64_t d, int64_t n,
                              float s) {
  score_gradient_row(p, g, dout, out, d, n, s);
}
void score_gradient(const double* p, double* g, const double* dout, const double* out, int64_t d, int64_t n, double s) {
  score_gradient_row(p, g, dout, out, d, n, s);
}

/// Strides of [T, H, D] and the work list: one task per (piece, head).
struct Shape {
  Shape(const at::Tensor& q, const at::Tensor& k, const Pieces& p, const ScoreRule& score_rule)
      : heads(q.size(1)),
        kv_heads(k.size(1)),
        width(q.size(2)),
        longest(longest_sequence(p.cu_keys)),
        pieces(p),
        rule(score_rule) {
    if (p.key_rows.defined()) key_row_indices = p.key_rows.const_data_ptr<int64_t>();
  }
  int64_t heads, kv_heads, width;
  int64_t longest;  // most keys of a piece
  const Pieces& pieces;
  const ScoreRule& rule;
  const int64_t* key_row_indices = nullptr;  // [K]: Pieces::key_rows; null if undefined

  int64_t group() const { return heads / kv_heads; }
  /// Returns the number of keys before a piece's first query.
  int64_t earlier(int64_t piece) const { return pieces.num_keys(piece) - pieces.num_queries(piece); }
  /// Returns the rows of one head of one piece in a tensor [T, heads, D] or (key_rows) [K, kv_heads, D].
  template <class T>
  Rows<T> query_rows(T* data, int64_t piece, int64_t head) const {
    return {data + (pieces.cu_queries[piece] * heads + head) * width, heads * width};
  }
  template <class T>
  Rows<T> key_rows(T* data, int64_t piece, int64_t head) const {
    return {data + (pieces.cu_keys[piece] * kv_heads + head) * width, kv_heads * width};
  }
  /// Returns the keys of one head of one piece. With key_rows it copies them to `buffer` [longest, D], which is cheap
  /// beside the products.
  template <class T>
  Rows<const T> keys(const T* data, int64_t piece, int64_t head, T* buffer) const {
    if (!key_row_indices) return key_rows(data, piece, head);
    for (int64_t j = 0; j < pieces.num_keys(piece); ++j)
      std::copy_n(data + (key_row_indices[pieces.cu_keys[piece] + j] * kv_heads + head) * width, width,
                  buffer + j * width);
    return {buffer, width};
  }
  /// Returns the largest number of keys that a block of queries sees, padded().
  int64_t widest() const { return padded(rule.window > 0 ? std::min(longest, rule.window + kQueryBlock) : longest); }
  /// Returns the first key that the query after `earlier` keys sees.
  int64_t first_key(int64_t earlier) const {
    return rule.window > 0 ? std::max<int64_t>(0, earlier + 1 - rule.window) : 0;
  }
  /// Returns the part of the keys [from, from + length) that the query after `earlier` keys sees.
  Seen seen(int64_t earlier, int64_t from, int64_t length) const {
    return {first_key(earlier) - from, earlier + 1 - from, length};
  }
  /// Returns the size of a task's scratch memory: `blocks` blocks of queries x keys, `blocks` copies of transposed
  /// keys or values, each with a vector of slack that products read, and with key_rows copies of keys and values.
  int64_t scratch(int64_t blocks) const {
    return blocks * (kQueryBlock * widest() + width * padded(longest) + kVectorColumns) +
           (key_row_indices ? 2 * width * longest : 0);
  }
};

/// Pointers into a task's scratch() memory.
template <class T>
struct TaskMemory {
  TaskMemory(const Shape& shape, int64_t num_blocks, std::vector<T>& scratch) {
    T* next = scratch.data();
    const auto take = [&](int64_t size) { return std::exchange(next, next + size); };
    for (int64_t i = 0; i < num_blocks; ++i) blocks[i] = take(kQueryBlock * shape.widest());
    for (int64_t i = 0; i < num_blocks; ++i) transposes[i] = take(shape.width * padded(shape.longest) + kVectorColumns);
    if (!shape.key_row_indices) return;
    k = take(shape.width * shape.longest);
    v = take(shape.width * shape.longest);
  }
  std::array<T*, 2> blocks{}, transposes{};
  T *k = nullptr, *v = nullptr;  // copies; only with key_rows
};

template <class T>
Rows<T> skip(Rows<T> rows, int64_t count) {
  return {rows.data + count * rows.stride, rows.stride};
}

template <class T>
struct ForwardPointers {
  const T *q, *k, *v;
  T *out, *logsumexp;
};

template <class T>
void forward_task(const Shape& shape, const ForwardPointers<T>& p, int64_t task, T scale, std::vector<T>& scratch) {
  const int64_t piece = task / shape.heads, head = task % shape.heads, kv_head = head / shape.group();
  const int64_t num_queries = shape.pieces.num_queries(piece), earlier = shape.earlier(piece), width = shape.width;
  const Rows<const T> q = shape.query_rows(p.q, piece, head);
  const TaskMemory<T> memory(shape, 1, scratch);
  const T cap = static_cast<T>(shape.rule.cap);
  const Rows<const T> k =
      transposed(shape.keys(p.k, piece, kv_head, memory.k), shape.pieces.num_keys(piece), width, memory.transposes[0]);
  const Rows<const T> v = shape.keys(p.v, piece, kv_head, memory.v);
  const Rows<T> out = shape.query_rows(p.out, piece, head);
  T* logsumexp = p.logsumexp + shape.pieces.cu_queries[piece] * shape.heads + head;
  for (int64_t begin = 0; begin < num_queries; begin += kQueryBlock) {
    const int64_t n = std::min(num_queries - begin, kQueryBlock), from = shape.first_key(earlier + begin),
                  keys = earlier + begin + n - from;
    const Rows<T> s = {memory.blocks[0], padded(keys)};
    multiply<T>({n, s.stride, width, scale, Op::kPlain, skip(q, begin), {k.data + from, k.stride}, false, s});
    for (int64_t i = 0; i < n; ++i) {
      const Seen seen = shape.seen(earlier + begin + i, from, keys);
      T* row = s.data + i * s.stride;
      if (cap > 0) cap_scores(row, seen, cap);
      logsumexp[(begin + i) * shape.heads] = softmax(row, seen);
    }
    multiply<T>({n, width, keys, T(1), Op::kPlain, {s.data, s.stride}, skip(v, from), false, skip(out, begin)});
  }
}

template <class T>
struct BackwardPointers {
  const T *dout, *q, *k, *v, *out, *logsumexp;
  T *dq, *dk, *dv;
};

/// Computes one (piece, key/value head): its group of query heads adds to the same dk and dv.
template <class T>
void backward_task(const Shape& shape, const BackwardPointers<T>& p, int64_t task, T scale, std::vector<T>& scratch) {
  const int64_t piece = task / shape.kv_heads, kv_head = task % shape.kv_heads;
  const int64_t num_queries = shape.pieces.num_queries(piece), num_keys = shape.pieces.num_keys(piece),
                earlier = shape.earlier(piece), width = shape.width;
  const TaskMemory<T> memory(shape, 2, scratch);
  const T cap = static_cast<T>(shape.rule.cap);
  const Rows<const T> k = shape.keys(p.k, piece, kv_head, memory.k);
  const Rows<const T> k_transposed = transposed(k, num_keys, width, memory.transposes[0]);
  const Rows<const T> v_transposed =
      transposed(shape.keys(p.v, piece, kv_head, memory.v), num_keys, width, memory.transposes[1]);
  const Rows<T> dk = shape.key_rows(p.dk, piece, kv_head);
  const Rows<T> dv = shape.key_rows(p.dv, piece, kv_head);
  for (int64_t head = kv_head * shape.group(); head < (kv_head + 1) * shape.group(); ++head) {
    const Rows<const T> q = shape.query_rows(p.q, piece, head);
    const Rows<const T> out = shape.query_rows(p.out, piece, head);
    const Rows<const T> dout = shape.query_rows(p.dout, piece, head);
    const Rows<T> dq = shape.query_rows(p.dq, piece, head);
    const T* logsumexp = p.logsumexp + shape.pieces.cu_queries[piece] * shape.heads + head;
    for (int64_t begin = 0; begin < num_queries; begin += kQueryBlock) {
      const int64_t n = std::min(num_queries - begin, kQueryBlock), from = shape.first_key(earlier + begin),
                    keys = earlier + begin + n - from, stride = padded(keys);
      const Rows<T> probabilities = {memory.blocks[0], stride}, grads = {memory.blocks[1], stride};
      multiply<T>({n,
                   stride,
                   width,
                   scale,
                   Op::kPlain,
                   skip(q, begin),
                   {k_transposed.data + from, k_transposed.stride},
                   false,
                   probabilities});
      multiply<T>({n,
                   stride,
                   width,
                   T(1),
                   Op::kPlain,
                   skip(dout, begin),
                   {v_transposed.data + from, v_transposed.stride},
                   false,
                   grads});
      for (int64_t i = 0; i < n; ++i) {
        const Seen seen = shape.seen(earlier + begin + i, from, keys);
        T *row_probabilities = probabilities.data + i * stride, *grad = grads.data + i * stride;
        const T *dout_row = skip(dout, begin + i).data, *out_row = skip(out, begin + i).data;
        if (cap > 0) {
          cap_scores(row_probabilities, seen, cap);
          uncap_gradients(row_probabilities, grad, dot(dout_row, out_row, width), seen, cap);
        }
        probability(row_probabilities, logsumexp[(begin + i) * shape.heads], seen);
        score_gradient(row_probabilities, grad, dout_row, out_row, width, keys, scale);
      }
      const Rows<const T> prob = {probabilities.data, stride}, grad = {grads.data, stride};
      multiply<T>({n, width, keys, T(1), Op::kPlain, grad, skip(k, from), false, skip(dq, begin)});
      multiply<T>({keys, width, n, T(1), Op::kTransposed, grad, skip(q, begin), true, skip(dk, from)});
      multiply<T>({keys, width, n, T(1), Op::kTransposed, prob, skip(dout, begin), true, skip(dv, from)});
    }
  }
}

}  // namespace

AttentionResult attention_forward_cpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const Pieces& pieces, const ScoreRule& rule) {
  const Shape shape(q, k, pieces, rule);
  const AttentionResult result{at::empty_like(q), at::empty({q.size(0), q.size(1)}, q.options())};
  AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "attention_forward_cpu", [&] {
    using T = scalar_t;
    const ForwardPointers<T> p{q.const_data_ptr<T>(), k.const_data_ptr<T>(), v.const_data_ptr<T>(),
                               result.out.mutable_data_ptr<T>(), result.logsumexp.mutable_data_ptr<T>()};
    parallel_tasks(
        shape.pieces.size() * shape.heads, [&] { return std::vector<T>(shape.scratch(1)); },
        [&](int64_t task, std::vector<T>& scores) {
          forward_task<T>(shape, p, task, static_cast<T>(rule.scale), scores);
        });
  });
  return result;
}

AttentionGrads attention_backward_cpu(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                                      const at::Tensor& v, const AttentionResult& forward, const Pieces& pieces,
                                      const ScoreRule& rule) {
  const Shape shape(q, k, pieces, rule);
  const std::vector<int64_t> key_shape = {pieces.cu_keys.back(), k.size(1), k.size(2)};
  const AttentionGrads grads{at::empty_like(q), at::zeros(key_shape, k.options()), at::zeros(key_shape, v.options())};
  AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "attention_backward_cpu", [&] {
    using T = scalar_t;
    const BackwardPointers<T> p{
        grad_out.const_data_ptr<T>(),  q.const_data_ptr<T>(),           k.const_data_ptr<T>(),
        v.const_data_ptr<T>(),         forward.out.const_data_ptr<T>(), forward.logsumexp.const_data_ptr<T>(),
        grads.q.mutable_data_ptr<T>(), grads.k.mutable_data_ptr<T>(),   grads.v.mutable_data_ptr<T>()};
    parallel_tasks(
        shape.pieces.size() * shape.kv_heads, [&] { return std::vector<T>(shape.scratch(2)); },
        [&](int64_t task, std::vector<T>& scratch) {
          backward_task<T>(shape, p, task, static_cast<T>(rule.scale), scratch);
        });
  });
  return grads;
}

}  // namespace roll
