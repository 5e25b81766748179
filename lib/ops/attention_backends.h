// Backends of packed_attention (attention.h): on the CPU, blocks of queries whose scores stay in cache; on CUDA,
// LibTorch's variable-length flash kernels for bfloat16/float16; plain operators otherwise.
// Non-goal: low memory for very long sequences on the CPU; a block's scores are kQueryBlock x length per thread.
// Legend: T packed tokens, K keys, H query heads, Hkv key/value heads, D head size.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/attention.h"

namespace roll {

/// Returns the largest difference of consecutive bounds: the length of the longest piece.
inline int64_t longest_sequence(const std::vector<int64_t>& cu) {
  int64_t longest = 0;
  for (size_t c = 0; c + 1 < cu.size(); ++c) longest = std::max(longest, cu[c + 1] - cu[c]);
  return longest;
}

struct AttentionResult {
  at::Tensor out;        // [T, H, D]
  at::Tensor logsumexp;  // [T, H], over the scaled scores of the keys that a query sees
};

struct AttentionGrads {
  at::Tensor q, k, v;
};

/// Computes attention on the CPU: q [T, H, D], k and v [K, Hkv, D] (with key_rows: any number of rows). All are
/// contiguous, in float32 or float64.
AttentionResult attention_forward_cpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const Pieces& pieces, const ScoreRule& rule);

/// Returns the gradients of q and of the pieces' keys and values, [K, Hkv, D] in the pieces' order. grad_out [T, H, D].
AttentionGrads attention_backward_cpu(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                                      const at::Tensor& v, const AttentionResult& forward, const Pieces& pieces,
                                      const ScoreRule& rule);

/// Output of the flash forward pass, which backward needs.
struct FlashResult {
  at::Tensor out, logsumexp, rng_state, unused, cu_queries, cu_keys;
};

struct LongestPiece {
  int64_t queries, keys;
};

/// True if the flash kernels support q (on CUDA): bfloat16/float16, head size a multiple of 8 up to 256, no score cap.
bool has_flash_kernel(const at::Tensor& q, const ScoreRule& rule);

/// Runs the flash forward kernel: q [T, H, D], k and v [K, Hkv, D] -> out [T, H, D].
FlashResult flash_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Pieces& pieces,
                          const ScoreRule& rule);

/// Runs the flash backward kernel: grad_out [T, H, D] -> {dq [T, H, D], dk, dv [K, Hkv, D]}.
std::vector<at::Tensor> flash_backward(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, const FlashResult& forward, LongestPiece longest,
                                       const ScoreRule& rule);

/// Computes attention piece by piece with LibTorch's differentiable operators, for any device, dtype and rule.
at::Tensor packed_attention_by_piece(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const Pieces& pieces, const ScoreRule& rule);

}  // namespace roll
