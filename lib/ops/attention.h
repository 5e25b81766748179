// Causal attention over packed sequences; grouped queries without repeated keys or values.
// Legend: T packed tokens, K keys, B sequences, H query heads, Hkv key/value heads, D head size.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace roll {

/// Runs of tokens that attend together. Piece c: queries cu_queries[c] .. cu_queries[c+1], keys
/// cu_keys[c] .. cu_keys[c+1]; see packed_attention().
struct Pieces {
  std::vector<int64_t> cu_queries, cu_keys;          // [C+1]
  at::Tensor queries_on_device{}, keys_on_device{};  // [C+1] int32; undefined on the host
  at::Tensor key_rows{};                             // [K] int64: the keys, as rows of k and v; undefined: 0, 1, ...

  int64_t size() const { return static_cast<int64_t>(cu_queries.size()) - 1; }
  int64_t num_queries(int64_t c) const { return cu_queries[c + 1] - cu_queries[c]; }
  int64_t num_keys(int64_t c) const { return cu_keys[c + 1] - cu_keys[c]; }
};

/// [C+1] int32.
at::Tensor bounds_of(const std::vector<int64_t>& cu);

/// What queries and keys give: scores, of which a softmax is taken.
struct ScoreRule {
  ScoreRule(double scale_, int64_t window_ = 0, double cap_ = 0) : scale(scale_), window(window_), cap(cap_) {}
  double scale;
  int64_t window;  // a query sees so many keys at most, the last ones; 0: all
  double cap;      // scores are cap * tanh(score / cap); 0: they stay as they are
};

/// Sends the bounds to `device`, once for all layers.
Pieces pieces_on(at::Device device, std::vector<int64_t> cu_queries, std::vector<int64_t> cu_keys);

/// Piece c has the queries cu_queries[c] .. cu_queries[c+1] and the keys cu_keys[c] .. cu_keys[c+1], at least as many;
/// its last query sees all of its keys, each earlier query one less. With equal bounds that is causal attention within
/// sequences: each token sees itself and the earlier ones. q [T, H, D], k and v [K, Hkv, D] -> [T, H, D]. With
/// `key_rows`, k and v hold what these name, a row for several pieces where they say so; its gradient is their sum.
/// CPU float32/float64, CUDA any floating type (bfloat16 and float16 take the flash kernels). Differentiable.
at::Tensor packed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Pieces& pieces,
                            const ScoreRule& rule);
at::Tensor packed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::vector<int64_t>& cu_queries, const std::vector<int64_t>& cu_keys,
                            const ScoreRule& rule);

}  // namespace roll
