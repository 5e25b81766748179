#include "ops/attention_backends.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <algorithm>

#include "ops/blas.h"
#include "ops/parallel_tasks.h"
#include "ops/simd.h"

namespace roll {

namespace {

constexpr int64_t kQueryBlock = 64;

/// Softmax of the first `seen` of `length` scores; the rest becomes 0, so that products may run over all of them.
template <class T>
ROLL_INLINE T softmax_row(T* scores, int64_t seen, int64_t length) {
  T top;
  const T sum = exponentiate_row(scores, seen, top);
  const T inverse = T(1) / sum;
  for (int64_t j = 0; j < seen; ++j) scores[j] *= inverse;
  std::fill(scores + seen, scores + length, T(0));
  return top + std::log(sum);
}

/// Scores -> probabilities given their logsumexp.
template <class T>
ROLL_INLINE void probability_row(T* scores, T logsumexp, int64_t seen, int64_t length) {
  for (int64_t j = 0; j < seen; ++j) scores[j] = fast_exp(scores[j] - logsumexp);
  std::fill(scores + seen, scores + length, T(0));
}

/// dS = P (dP - sum(dO O)) scale, in place of dP.
template <class T>
ROLL_INLINE void score_gradient_row(const T* probabilities, T* grads, const T* dout, const T* out, int64_t width,
                                    int64_t length, T scale) {
  T delta = 0;
#pragma omp simd reduction(+ : delta)
  for (int64_t d = 0; d < width; ++d) delta += dout[d] * out[d];
  for (int64_t j = 0; j < length; ++j) grads[j] = probabilities[j] * (grads[j] - delta) * scale;
}

ROLL_SIMD float softmax(float* scores, int64_t seen, int64_t length) {
  return softmax_row(scores, seen, length);
}
double softmax(double* scores, int64_t seen, int64_t length) {
  return softmax_row(scores, seen, length);
}
ROLL_SIMD void probability(float* scores, float lse, int64_t seen, int64_t n) {
  probability_row(scores, lse, seen, n);
}
void probability(double* scores, double lse, int64_t seen, int64_t n) {
  probability_row(scores, lse, seen, n);
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
  Shape(const at::Tensor& q, const at::Tensor& k, const Pieces& p)
      : heads(q.size(1)), kv_heads(k.size(1)), width(q.size(2)), longest(longest_of(p.cu_keys)), pieces(p) {
    if (p.key_rows.defined()) named = p.key_rows.const_data_ptr<int64_t>();
  }
  int64_t heads, kv_heads, width;
  int64_t longest;  // keys of a piece
  const Pieces& pieces;
  const int64_t* named = nullptr;  // [K] rows of the keys

  int64_t group() const { return heads / kv_heads; }
  /// Keys that a piece's first query sees besides its own.
  int64_t earlier(int64_t piece) const { return pieces.num_keys(piece) - pieces.num_queries(piece); }
  /// The rows of one head of one piece in a tensor [T, heads, D] or [K, kv_heads, D].
  template <class T>
  Rows<T> query_rows(T* data, int64_t piece, int64_t head) const {
    return {data + (pieces.cu_queries[piece] * heads + head) * width, heads * width};
  }
  template <class T>
  Rows<T> key_rows(T* data, int64_t piece, int64_t head) const {
    return {data + (pieces.cu_keys[piece] * kv_heads + head) * width, kv_heads * width};
  }
  /// The keys of one head of one piece; copied to `room` [longest, D] where they are named: little beside what is
  /// computed of them.
  template <class T>
  Rows<const T> keys(const T* data, int64_t piece, int64_t head, T* room) const {
    if (!named) return key_rows(data, piece, head);
    for (int64_t j = 0; j < pieces.num_keys(piece); ++j)
      std::copy_n(data + (named[pieces.cu_keys[piece] + j] * kv_heads + head) * width, width, room + j * width);
    return {room, width};
  }
  /// Numbers that a task needs: `blocks` blocks of queries by keys, then keys and values.
  int64_t scratch(int64_t blocks) const { return (blocks * kQueryBlock + (named ? 2 * width : 0)) * longest; }
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
void forward_task(const Shape& shape, const ForwardPointers<T>& p, int64_t task, T scale, std::vector<T>& scores) {
  const int64_t piece = task / shape.heads, head = task % shape.heads, kv_head = head / shape.group();
  const int64_t num_queries = shape.pieces.num_queries(piece), earlier = shape.earlier(piece), width = shape.width;
  const Rows<const T> q = shape.query_rows(p.q, piece, head);
  T* room = scores.data() + kQueryBlock * shape.longest;
  const Rows<const T> k = shape.keys(p.k, piece, kv_head, room);
  const Rows<const T> v = shape.keys(p.v, piece, kv_head, room + shape.longest * width);
  const Rows<T> out = shape.query_rows(p.out, piece, head);
  T* logsumexp = p.logsumexp + shape.pieces.cu_queries[piece] * shape.heads + head;
  for (int64_t begin = 0; begin < num_queries; begin += kQueryBlock) {
    const int64_t n = std::min(num_queries - begin, kQueryBlock), keys = earlier + begin + n;
    const Rows<T> s = {scores.data(), keys};
    gemm<T>(Op::kPlain, Op::kTransposed, n, keys, width, scale, skip(q, begin), k, T(0), s);
    for (int64_t i = 0; i < n; ++i)
      logsumexp[(begin + i) * shape.heads] = softmax(s.data + i * keys, earlier + begin + i + 1, keys);
    gemm<T>(Op::kPlain, Op::kPlain, n, width, keys, T(1), {s.data, keys}, v, T(0), skip(out, begin));
  }
}

template <class T>
struct BackwardPointers {
  const T *dout, *q, *k, *v, *out, *logsumexp;
  T *dq, *dk, *dv;
};

/// One (piece, key/value head): its group of query heads adds to the same dk and dv.
template <class T>
void backward_task(const Shape& shape, const BackwardPointers<T>& p, int64_t task, T scale, std::vector<T>& scratch) {
  const int64_t piece = task / shape.kv_heads, kv_head = task % shape.kv_heads;
  const int64_t num_queries = shape.pieces.num_queries(piece), earlier = shape.earlier(piece), width = shape.width;
  T* room = scratch.data() + 2 * kQueryBlock * shape.longest;
  const Rows<const T> k = shape.keys(p.k, piece, kv_head, room);
  const Rows<const T> v = shape.keys(p.v, piece, kv_head, room + shape.longest * width);
  const Rows<T> dk = shape.key_rows(p.dk, piece, kv_head);
  const Rows<T> dv = shape.key_rows(p.dv, piece, kv_head);
  T* probabilities = scratch.data();
  T* grads = scratch.data() + kQueryBlock * shape.longest;
  for (int64_t head = kv_head * shape.group(); head < (kv_head + 1) * shape.group(); ++head) {
    const Rows<const T> q = shape.query_rows(p.q, piece, head);
    const Rows<const T> out = shape.query_rows(p.out, piece, head);
    const Rows<const T> dout = shape.query_rows(p.dout, piece, head);
    const Rows<T> dq = shape.query_rows(p.dq, piece, head);
    const T* logsumexp = p.logsumexp + shape.pieces.cu_queries[piece] * shape.heads + head;
    for (int64_t begin = 0; begin < num_queries; begin += kQueryBlock) {
      const int64_t n = std::min(num_queries - begin, kQueryBlock), keys = earlier + begin + n;
      const Rows<const T> prob = {probabilities, keys}, grad = {grads, keys};
      gemm<T>(Op::kPlain, Op::kTransposed, n, keys, width, scale, skip(q, begin), k, T(0), {probabilities, keys});
      gemm<T>(Op::kPlain, Op::kTransposed, n, keys, width, T(1), skip(dout, begin), v, T(0), {grads, keys});
      for (int64_t i = 0; i < n; ++i) {
        probability(probabilities + i * keys, logsumexp[(begin + i) * shape.heads], earlier + begin + i + 1, keys);
        score_gradient(probabilities + i * keys, grads + i * keys, skip(dout, begin + i).data,
                       skip(out, begin + i).data, width, keys, scale);
      }
      gemm<T>(Op::kPlain, Op::kPlain, n, width, keys, T(1), grad, k, T(0), skip(dq, begin));
      gemm<T>(Op::kTransposed, Op::kPlain, keys, width, n, T(1), grad, skip(q, begin), T(1), dk);
      gemm<T>(Op::kTransposed, Op::kPlain, keys, width, n, T(1), prob, skip(dout, begin), T(1), dv);
    }
  }
}

}  // namespace

AttentionResult attention_forward_cpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const Pieces& pieces, double scale) {
  const Shape shape(q, k, pieces);
  const AttentionResult result{at::empty_like(q), at::empty({q.size(0), q.size(1)}, q.options())};
  AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "attention_forward_cpu", [&] {
    using T = scalar_t;
    const ForwardPointers<T> p{q.const_data_ptr<T>(), k.const_data_ptr<T>(), v.const_data_ptr<T>(),
                               result.out.mutable_data_ptr<T>(), result.logsumexp.mutable_data_ptr<T>()};
    parallel_tasks(
        shape.pieces.size() * shape.heads, [&] { return std::vector<T>(shape.scratch(1)); },
        [&](int64_t task, std::vector<T>& scores) { forward_task<T>(shape, p, task, static_cast<T>(scale), scores); });
  });
  return result;
}

AttentionGrads attention_backward_cpu(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                                      const at::Tensor& v, const AttentionResult& forward, const Pieces& pieces,
                                      double scale) {
  const Shape shape(q, k, pieces);
  const std::vector<int64_t> of_keys = {pieces.cu_keys.back(), k.size(1), k.size(2)};
  const AttentionGrads grads{at::empty_like(q), at::zeros(of_keys, k.options()), at::zeros(of_keys, v.options())};
  AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "attention_backward_cpu", [&] {
    using T = scalar_t;
    const BackwardPointers<T> p{
        grad_out.const_data_ptr<T>(),  q.const_data_ptr<T>(),           k.const_data_ptr<T>(),
        v.const_data_ptr<T>(),         forward.out.const_data_ptr<T>(), forward.logsumexp.const_data_ptr<T>(),
        grads.q.mutable_data_ptr<T>(), grads.k.mutable_data_ptr<T>(),   grads.v.mutable_data_ptr<T>()};
    parallel_tasks(
        shape.pieces.size() * shape.kv_heads, [&] { return std::vector<T>(shape.scratch(2)); },
        [&](int64_t task, std::vector<T>& scratch) {
          backward_task<T>(shape, p, task, static_cast<T>(scale), scratch);
        });
  });
  return grads;
}

}  // namespace roll
