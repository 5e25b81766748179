// Causal attention over packed sequences; grouped queries without repeated keys or values.
// Legend: T packed tokens, K keys, B sequences, H query heads, Hkv key/value heads, D head size.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace roll {

/// Piece c has the queries cu_queries[c] .. cu_queries[c+1] and the keys cu_keys[c] .. cu_keys[c+1], at least as many;
/// its last query sees all of its keys, each earlier query one less. With equal bounds that is causal attention within
/// sequences: each token sees itself and the earlier ones. q [T, H, D], k and v [K, Hkv, D] -> [T, H, D].
/// CPU float32/float64, CUDA any floating type (bfloat16 and float16 take the flash kernels). Differentiable.
at::Tensor packed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::vector<int64_t>& cu_queries, const std::vector<int64_t>& cu_keys, double scale);

}  // namespace roll
