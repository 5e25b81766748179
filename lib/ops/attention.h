// Differentiable causal attention over packed sequences, for the models on any device. In grouped-query attention, keys
// and values are not repeated for the query heads.
// Legend: T queries (packed tokens), K keys, C pieces, H query heads, Hkv key/value heads, D head size.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace roll {

/// Ranges of queries and keys that attend to each other: piece c has the queries [cu_queries[c], cu_queries[c + 1]) and
/// the keys [cu_keys[c], cu_keys[c + 1]). A whole sequence is one piece with equally many queries and keys. A piece
/// with more keys than queries is the end of a sequence whose first tokens have only keys here.
struct Pieces {
  std::vector<int64_t> cu_queries, cu_keys;  // [C+1] from 0
  // The same as int32 on a GPU, from pieces_on(); undefined on the CPU.
  at::Tensor queries_on_device{}, keys_on_device{};
  at::Tensor key_rows{};  // [K] int64: each key's row in k and v; undefined: 0, 1, 2, ...

  int64_t size() const { return static_cast<int64_t>(cu_queries.size()) - 1; }
  int64_t num_queries(int64_t c) const { return cu_queries[c + 1] - cu_queries[c]; }
  int64_t num_keys(int64_t c) const { return cu_keys[c + 1] - cu_keys[c]; }
};

/// Returns cu_queries or cu_keys as a tensor on the host: [C+1] int32.
at::Tensor sequence_bounds(const std::vector<int64_t>& cu);

/// Computation of the attention scores from queries and keys, before the softmax: cap(scale * q k).
struct ScoreRule {
  ScoreRule(double scale_, int64_t window_ = 0, double cap_ = 0) : scale(scale_), window(window_), cap(cap_) {}
  double scale;
  int64_t window;  // number of last keys that a query sees, its own included; 0: all up to its own
  double cap;      // soft cap: scores become cap * tanh(score / cap); 0: no cap
};

/// Makes Pieces and copies the bounds to `device`; call it once for all layers.
Pieces pieces_on(at::Device device, std::vector<int64_t> cu_queries, std::vector<int64_t> cu_keys);

/// Returns the attention output [T, H, D] of q [T, H, D], k and v [K, Hkv, D] (with key_rows: any number of rows). The
/// last query of a piece sees all keys of the piece, each earlier query one key less, within rule.window. A piece must
/// have at least as many keys as queries. With key_rows, several pieces may share a row of k and v (prefix sharing);
/// the row's gradient is then the sum over them. Differentiable. The CPU computes in float32 or float64, and rounds the
/// result to q's dtype. Throws Bug if bounds and sizes do not fit. `sinks` [H]: the score of a key per head that every
/// query sees, and whose value is 0 (gpt-oss); undefined: none.
at::Tensor packed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Pieces& pieces,
                            const ScoreRule& rule, const at::Tensor& sinks = {});
/// The same for a single call: makes the Pieces from the bounds.
at::Tensor packed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::vector<int64_t>& cu_queries, const std::vector<int64_t>& cu_keys,
                            const ScoreRule& rule);

}  // namespace roll
