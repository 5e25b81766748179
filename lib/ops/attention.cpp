#include "ops/attention.h"

#include <ATen/ATen.h>

namespace roll {

at::Tensor packed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::vector<int64_t>& cu_seqlens, double scale) {
  std::vector<at::Tensor> outputs;
  for (size_t b = 0; b + 1 < cu_seqlens.size(); ++b) {
    const auto part = [&](const at::Tensor& x) {
      return x.slice(0, cu_seqlens[b], cu_seqlens[b + 1]).transpose(0, 1).unsqueeze(0);
    };
    outputs.push_back(
        at::scaled_dot_product_attention(part(q), part(k), part(v), {}, 0.0, true, scale, q.size(1) != k.size(1))
            .squeeze(0)
            .transpose(0, 1));
  }
  return at::cat(outputs, 0);
}

at::Tensor cached_attention(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& values,
                            at::IntArrayRef slots, const std::vector<int64_t>& lengths, double scale) {
  std::vector<at::Tensor> outputs;
  for (size_t b = 0; b < slots.size(); ++b) {
    const auto part = [&](const at::Tensor& x) {
      return x[slots[b]].slice(0, 0, lengths[b]).transpose(0, 1).unsqueeze(0);
    };
    const at::Tensor query = q[static_cast<int64_t>(b)].unsqueeze(1).unsqueeze(0);
    outputs.push_back(at::scaled_dot_product_attention(query, part(keys), part(values), {}, 0.0, false, scale,
                                                       q.size(1) != keys.size(2))
                          .squeeze(0)
                          .transpose(0, 1));
  }
  return at::cat(outputs, 0);
}

}  // namespace roll
