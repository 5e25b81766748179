// Causal attention over packed sequences, for the models. Grouped-query attention (GQA) does not repeat keys or values.
// Legend: T packed tokens, K keys, B sequences, H query heads, Hkv key/value heads, D head size.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace roll {

/// Ranges of tokens that attend together. Piece c has the queries cu_queries[c] .. cu_queries[c+1] and the keys
/// cu_keys[c] .. cu_keys[c+1]; see packed_attention().
struct Pieces {
  std::vector<int64_t> cu_queries, cu_keys;          // [C+1]
  at::Tensor queries_on_device{}, keys_on_device{};  // [C+1] int32; undefined on the host
  at::Tensor key_rows{};                             // [K] int64: each key's row of k and v; undefined: 0, 1, ...

  int64_t size() const { return static_cast<int64_t>(cu_queries.size()) - 1; }
  int64_t num_queries(int64_t c) const { return cu_queries[c + 1] - cu_queries[c]; }
  int64_t num_keys(int64_t c) const { return cu_keys[c + 1] - cu_keys[c]; }
};

/// Returns `cu` as a host tensor [C+1] int32.
at::Tensor sequence_bounds(const std::vector<int64_t>& cu);

/// Computation of the attention scores from queries and keys, before the softmax.
struct ScoreRule {
  ScoreRule(double scale_, int64_t window_ = 0, double cap_ = 0) : scale(scale_), window(window_), cap(cap_) {}
  double scale;
  int64_t window;  // sliding window: keys that a query sees at most; 0: all
  double cap;      // soft cap: scores become cap * tanh(score / cap); 0: none
};

/// Returns the pieces with their bounds copied to `device`; call it once for all layers.
Pieces pieces_on(at::Device device, std::vector<int64_t> cu_queries, std::vector<int64_t> cu_keys);

/// Returns the attention output [T, H, D] of q [T, H, D], k and v [K, Hkv, D]. Each piece has at least as many keys as
/// queries. Its last query sees all of its keys, each earlier query one key less. With equal bounds that is causal
/// attention within sequences: each token sees itself and the earlier ones. With `key_rows`, several pieces may share a
/// row of k and v (prefix sharing); the row's gradient is the sum over them. Differentiable. CPU: computed in float32
/// or float64; CUDA: any floating type (bfloat16 and float16 take the flash kernels).
at::Tensor packed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Pieces& pieces,
                            const ScoreRule& rule);
at::Tensor packed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::vector<int64_t>& cu_queries, const std::vector<int64_t>& cu_keys,
                            const ScoreRule& rule);

}  // namespace roll
