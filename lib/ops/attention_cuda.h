// Attention on CUDA: LibTorch's variable-length flash kernels for bfloat16/float16, plain operators for float32.
// Legend as in attention.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/attention_pieces.h"

namespace roll {

/// What the flash backward needs of the forward.
struct FlashResult {
  at::Tensor out, logsumexp, rng_state, unused, cu_queries, cu_keys;
};

struct LongestPiece {
  int64_t queries, keys;
};

/// bfloat16 or float16 on CUDA with a head size that the kernels take.
bool has_flash_kernel(const at::Tensor& q);

/// q [T, H, D], k and v [K, Hkv, D], out [T, H, D]; see packed_attention (attention.h).
FlashResult flash_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Pieces& pieces,
                          double scale);

/// grad_out [T, H, D] -> {dq [T, H, D], dk, dv [K, Hkv, D]}.
std::vector<at::Tensor> flash_backward(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, const FlashResult& forward, LongestPiece longest,
                                       double scale);

/// One scaled_dot_product_attention per piece: any device and dtype, with LibTorch's own gradient. Shapes as above.
at::Tensor packed_attention_by_piece(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const Pieces& pieces, double scale);

}  // namespace roll
