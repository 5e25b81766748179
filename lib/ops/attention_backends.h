// What packed_attention (attention.h) is made of: on the CPU blocks of queries whose scores stay in cache, on CUDA
// LibTorch's variable-length flash kernels for bfloat16/float16, and plain operators for all else.
// Non-goal: low memory for very long sequences on the CPU; a block's scores are kQueryBlock x length per thread.
// Legend: T packed tokens, K keys, H query heads, Hkv key/value heads, D head size.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/attention.h"

namespace roll {

/// The largest distance between neighbours.
inline int64_t longest_of(const std::vector<int64_t>& cu) {
  int64_t longest = 0;
  for (size_t c = 0; c + 1 < cu.size(); ++c) longest = std::max(longest, cu[c + 1] - cu[c]);
  return longest;
}

struct AttentionResult {
  at::Tensor out;        // [T, H, D]
  at::Tensor logsumexp;  // [T, H], of the scaled scores that a query sees
};

struct AttentionGrads {
  at::Tensor q, k, v;
};

/// q [T, H, D], k and v [K, Hkv, D] or what key_rows name, contiguous, float32 or float64.
AttentionResult attention_forward_cpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const Pieces& pieces, const ScoreRule& rule);

/// grad_out [T, H, D]; gives gradients by q and by the pieces' keys and values, [K, Hkv, D], one piece after the other.
AttentionGrads attention_backward_cpu(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                                      const at::Tensor& v, const AttentionResult& forward, const Pieces& pieces,
                                      const ScoreRule& rule);

/// What the flash backward needs of the forward.
struct FlashResult {
  at::Tensor out, logsumexp, rng_state, unused, cu_queries, cu_keys;
};

struct LongestPiece {
  int64_t queries, keys;
};

/// Whether the flash kernels take q, which is on a device: bfloat16 or float16, and a head size of theirs, without a
/// cap.
bool has_flash_kernel(const at::Tensor& q, const ScoreRule& rule);

/// q [T, H, D], k and v [K, Hkv, D], out [T, H, D]; see packed_attention (attention.h).
FlashResult flash_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Pieces& pieces,
                          const ScoreRule& rule);

/// grad_out [T, H, D] -> {dq [T, H, D], dk, dv [K, Hkv, D]}.
std::vector<at::Tensor> flash_backward(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, const FlashResult& forward, LongestPiece longest,
                                       const ScoreRule& rule);

/// Piece after piece: any device, dtype and rule, with LibTorch's own gradient. Shapes as above.
at::Tensor packed_attention_by_piece(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const Pieces& pieces, const ScoreRule& rule);

}  // namespace roll
