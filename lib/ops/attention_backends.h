// Implementations of packed_attention() (attention.h), which chooses between them. On the CPU: blocks of 64 queries,
// whose scores stay in cache (64 x length scores per thread, so memory grows with the longest piece). On CUDA:
// LibTorch's variable-length flash kernels if has_flash_kernel(), else LibTorch's plain operators.
// Legend: T queries, K keys of all pieces, H query heads, Hkv key/value heads, D head size.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/attention.h"

namespace roll {

/// Returns the length of the longest piece: the largest difference of consecutive elements of cu_queries or cu_keys.
inline int64_t longest_sequence(const std::vector<int64_t>& cu) {
  int64_t longest = 0;
  for (size_t c = 0; c + 1 < cu.size(); ++c) longest = std::max(longest, cu[c + 1] - cu[c]);
  return longest;
}

/// Result of attention_forward_cpu(), which attention_backward_cpu() needs.
struct AttentionResult {
  at::Tensor out;        // [T, H, D]
  at::Tensor logsumexp;  // [T, H]: log of the sum of exp(score) over the keys that a query sees
};

struct AttentionGrads {
  at::Tensor q;     // [T, H, D]
  at::Tensor k, v;  // [K, Hkv, D]: one row per key of a piece, even if key_rows lets keys share a row of k
};

/// Computes attention on the CPU: q [T, H, D], k and v [K, Hkv, D] (with key_rows: any number of rows). All must be
/// contiguous, and all float32 or all float64.
AttentionResult attention_forward_cpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const Pieces& pieces, const ScoreRule& rule);

/// Returns the gradients, given grad_out [T, H, D] and the forward's arguments and result.
AttentionGrads attention_backward_cpu(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                                      const at::Tensor& v, const AttentionResult& forward, const Pieces& pieces,
                                      const ScoreRule& rule);

/// Output of flash_forward(), which flash_backward() needs. Callers read only `out` [T, H, D]. rng_state and unused are
/// LibTorch's; cu_queries and cu_keys are the pieces' bounds on the device.
struct FlashResult {
  at::Tensor out, logsumexp, rng_state, unused, cu_queries, cu_keys;
};

/// Largest numbers of queries and of keys that a piece has: longest_sequence() of the bounds.
struct LongestPiece {
  int64_t queries, keys;
};

/// True if the flash kernels support q (on CUDA): bfloat16/float16, head size a multiple of 8 up to 256, no score cap.
bool has_flash_kernel(const at::Tensor& q, const ScoreRule& rule);

/// Runs the flash forward kernel: q [T, H, D], k and v [K, Hkv, D] -> out [T, H, D]. Ignores pieces.key_rows: k and v
/// must have a row for each key, in order. The pieces must come from pieces_on().
FlashResult flash_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Pieces& pieces,
                          const ScoreRule& rule);

/// Runs the flash backward kernel: grad_out [T, H, D] -> {dq [T, H, D], dk [K, Hkv, D], dv [K, Hkv, D]}. `forward`:
/// result of flash_forward() with the same q, k, v and rule.
std::vector<at::Tensor> flash_backward(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, const FlashResult& forward, LongestPiece longest,
                                       const ScoreRule& rule);

/// Computes attention piece by piece with LibTorch's differentiable operators, for any device, dtype and rule. Ignores
/// pieces.key_rows, like flash_forward(). sinks: see packed_attention().
at::Tensor packed_attention_by_piece(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const Pieces& pieces, const ScoreRule& rule, const at::Tensor& sinks = {});

}  // namespace roll
