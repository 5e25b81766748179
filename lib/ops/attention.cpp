#include "ops/attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "base/error.h"
#include "ops/attention_cpu.h"
#include "ops/attention_cuda.h"

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class CpuAttention : public torch::autograd::Function<CpuAttention> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q_in, const at::Tensor& k_in,
                            const at::Tensor& v_in, const std::vector<int64_t>& cu_seqlens, double scale) {
    const at::Tensor q = q_in.contiguous(), k = k_in.contiguous(), v = v_in.contiguous();
    const AttentionResult result = attention_forward_cpu(q, k, v, cu_seqlens, scale);
    ctx->save_for_backward({q, k, v, result.out, result.logsumexp});
    ctx->saved_data["cu_seqlens"] = cu_seqlens;
    ctx->saved_data["scale"] = scale;
    return result.out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const AttentionGrads found =
        attention_backward_cpu(grads[0].contiguous(), saved[0], saved[1], saved[2], {saved[3], saved[4]},
                               ctx->saved_data["cu_seqlens"].toIntVector(), ctx->saved_data["scale"].toDouble());
    return {found.q, found.k, found.v, at::Tensor(), at::Tensor()};
  }
};

class FlashAttention : public torch::autograd::Function<FlashAttention> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::vector<int64_t>& cu_seqlens, double scale) {
    const FlashResult result = flash_forward(q, k, v, cu_seqlens, scale);
    ctx->save_for_backward({q, k, v, result.out, result.logsumexp, result.rng_state, result.unused, result.cu_seqlens});
    int64_t longest = 0;
    for (size_t b = 0; b + 1 < cu_seqlens.size(); ++b) longest = std::max(longest, cu_seqlens[b + 1] - cu_seqlens[b]);
    ctx->saved_data["longest"] = longest;
    ctx->saved_data["scale"] = scale;
    return result.out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto s = ctx->get_saved_variables();
    const auto found = flash_backward(grads[0].contiguous(), s[0], s[1], s[2], {s[3], s[4], s[5], s[6], s[7]},
                                      ctx->saved_data["longest"].toInt(), ctx->saved_data["scale"].toDouble());
    return {found[0], found[1], found[2], at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor packed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::vector<int64_t>& cu_seqlens, double scale) {
  ROLL_CHECK_EQ(cu_seqlens.back(), q.size(0), "cu_seqlens covers every token");
  ROLL_CHECK_EQ(q.size(1) % k.size(1), 0, "key/value heads divide query heads");
  if (q.is_cpu()) return CpuAttention::apply(q, k, v, cu_seqlens, scale);
  if (has_flash_kernel(q)) return FlashAttention::apply(q, k, v, cu_seqlens, scale);
  return packed_attention_by_sequence(q, k, v, cu_seqlens, scale);
}

at::Tensor cached_attention(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& values,
                            at::IntArrayRef slots, const std::vector<int64_t>& lengths, double scale) {
  ROLL_CHECK_EQ(slots.size(), lengths.size(), "one length per slot");
  if (slots.empty()) return at::empty_like(q);
  if (q.is_cpu()) return cached_attention_cpu(q, keys, values, slots, lengths, scale);
  if (has_flash_kernel(q)) return flash_cached(q, keys, values, slots, lengths, scale);
  return cached_attention_masked(q, keys, values, slots, lengths, scale);
}

}  // namespace roll
