// This file builds without CUDA too: LibTorch's operators are dispatched by name.
#include "ops/attention_backends.h"

#include <ATen/ATen.h>

namespace roll {

bool has_flash_kernel(const at::Tensor& q) {
  const bool is_half = q.scalar_type() == at::kBFloat16 || q.scalar_type() == at::kHalf;
  return is_half && q.size(2) % 8 == 0 && q.size(2) <= 256;
}

FlashResult flash_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Pieces& pieces,
                          double scale) {
  const at::Tensor &cu_queries = pieces.queries_on_device, &cu_keys = pieces.keys_on_device;
  const auto [out, logsumexp, rng_state, unused, mask] = at::_flash_attention_forward(
      q, k, v, cu_queries, cu_keys, longest_of(pieces.cu_queries), longest_of(pieces.cu_keys), 0.0,
      /*is_causal=*/true, false, scale);
  return {out, logsumexp, rng_state, unused, cu_queries, cu_keys};
}

std::vector<at::Tensor> flash_backward(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, const FlashResult& forward, LongestPiece longest,
                                       double scale) {
  const auto [dq, dk, dv] = at::_flash_attention_backward(
      grad_out, q, k, v, forward.out, forward.logsumexp, forward.cu_queries, forward.cu_keys, longest.queries,
      longest.keys, 0.0, /*is_causal=*/true, forward.rng_state, forward.unused, scale);
  return {dq, dk, dv};
}

at::Tensor packed_attention_by_piece(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const Pieces& pieces, double scale) {
  std::vector<at::Tensor> outputs;
  for (size_t c = 0; c + 1 < pieces.cu_queries.size(); ++c) {
    const auto part = [&](const at::Tensor& x, const std::vector<int64_t>& cu) {
      return x.slice(0, cu[c], cu[c + 1]).transpose(0, 1).unsqueeze(0);
    };
    const at::Tensor queries = part(q, pieces.cu_queries), keys = part(k, pieces.cu_keys);
    const int64_t earlier = keys.size(2) - queries.size(2);
    std::optional<at::Tensor> seen;  // LibTorch's own causal mask lets the first query see the first key only
    if (earlier > 0) seen = at::ones({queries.size(2), keys.size(2)}, q.options().dtype(at::kBool)).tril(earlier);
    const at::Tensor out = at::scaled_dot_product_attention(queries, keys, part(v, pieces.cu_keys), seen, 0.0,
                                                            /*is_causal=*/earlier == 0, scale, q.size(1) != k.size(1));
    outputs.push_back(out.squeeze(0).transpose(0, 1));
  }
  return at::cat(outputs, 0);
}

}  // namespace roll
