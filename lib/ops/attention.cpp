#include "ops/attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "base/error.h"
#include "device/transfers.h"
#include "ops/attention_backends.h"
#include "ops/products.h"

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Returns x contiguous, in float32 or wider.
at::Tensor widened(const at::Tensor& x) {
  return x.to(wide_dtype(x)).contiguous();
}

/// Returns the keys or values of all pieces, one after the other.
at::Tensor select_key_rows(const at::Tensor& x, const at::Tensor& rows) {
  return rows.defined() ? x.index_select(0, rows) : x;
}

/// Backward of select_key_rows(): returns the gradient of x, summed in float32.
at::Tensor sum_key_row_gradients(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& rows) {
  if (!rows.defined()) return grad.to(x.scalar_type());
  const at::Tensor wide = grad.to(wide_dtype(x));
  return at::zeros(x.sizes(), wide.options()).index_add_(0, rows, wide).to(x.scalar_type());
}

/// A head's sink joins the softmax of each query: changes out [T, H, D] and logsumexp [T, H] accordingly.
void add_sinks(at::Tensor& out, at::Tensor& logsumexp, const at::Tensor& sinks) {
  const at::Tensor joined = at::logaddexp(logsumexp, sinks.detach().to(logsumexp.scalar_type()));
  out = (out * at::exp(logsumexp - joined).unsqueeze(2)).to(out.scalar_type());
  logsumexp = joined;
}

/// Returns the gradient of the sinks, given what add_sinks() made.
at::Tensor sink_gradient(const at::Tensor& grad_out, const at::Tensor& out, const at::Tensor& logsumexp,
                         const at::Tensor& sinks) {
  const at::Tensor shares = at::exp(sinks.detach().to(logsumexp.scalar_type()) - logsumexp);  // the sinks' [T, H]
  const at::Tensor read = (grad_out.to(shares.scalar_type()) * out.to(shares.scalar_type())).sum(2);
  return -(shares * read).sum(0).to(sinks.scalar_type());
}

void save_rule(AutogradContext* ctx, const ScoreRule& rule) {
  ctx->saved_data["scale"] = rule.scale;
  ctx->saved_data["window"] = rule.window;
  ctx->saved_data["cap"] = rule.cap;
}

ScoreRule saved_rule(AutogradContext* ctx) {
  return {ctx->saved_data["scale"].toDouble(), ctx->saved_data["window"].toInt(), ctx->saved_data["cap"].toDouble()};
}

class CpuAttention : public torch::autograd::Function<CpuAttention> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q_in, const at::Tensor& k_in,
                            const at::Tensor& v_in, const std::optional<at::Tensor>& sinks, const Pieces& pieces,
                            const ScoreRule& rule) {
    const at::Tensor q = q_in.contiguous(), k = k_in.contiguous(), v = v_in.contiguous();
    AttentionResult result = attention_forward_cpu(widened(q), widened(k), widened(v), pieces, rule);
    if (sinks) add_sinks(result.out, result.logsumexp, *sinks);
    const at::Tensor out = result.out.to(q.scalar_type());
    ctx->save_for_backward({q, k, v, out, result.logsumexp, pieces.key_rows, sinks.value_or(at::Tensor())});
    ctx->saved_data["cu_queries"] = pieces.cu_queries;
    ctx->saved_data["cu_keys"] = pieces.cu_keys;
    save_rule(ctx, rule);
    return out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    Pieces pieces{ctx->saved_data["cu_queries"].toIntVector(), ctx->saved_data["cu_keys"].toIntVector()};
    const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &rows = saved[5];
    pieces.key_rows = rows;
    const AttentionGrads found = attention_backward_cpu(widened(grads[0]), widened(q), widened(k), widened(v),
                                                        {widened(saved[3]), saved[4]}, pieces, saved_rule(ctx));
    return {found.q.to(q.scalar_type()),
            sum_key_row_gradients(found.k, k, rows),
            sum_key_row_gradients(found.v, v, rows),
            saved[6].defined() ? sink_gradient(grads[0], saved[3], saved[4], saved[6]) : at::Tensor(),
            at::Tensor(),
            at::Tensor()};
  }
};

class FlashAttention : public torch::autograd::Function<FlashAttention> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::optional<at::Tensor>& sinks, const Pieces& pieces, const ScoreRule& rule) {
    const at::Tensor& rows = pieces.key_rows;
    FlashResult r = flash_forward(q, select_key_rows(k, rows), select_key_rows(v, rows), pieces, rule);
    if (sinks) {
      at::Tensor logsumexp = r.logsumexp.t();  // LibTorch's is [H, T]
      add_sinks(r.out, logsumexp, *sinks);
      r.logsumexp = logsumexp.t().contiguous();
    }
    ctx->save_for_backward({q, k, v, r.out, r.logsumexp, r.rng_state, r.unused, r.cu_queries, r.cu_keys, rows,
                            sinks.value_or(at::Tensor())});
    ctx->saved_data["longest_queries"] = longest_sequence(pieces.cu_queries);
    ctx->saved_data["longest_keys"] = longest_sequence(pieces.cu_keys);
    save_rule(ctx, rule);
    return r.out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto s = ctx->get_saved_variables();
    const auto found = flash_backward(
        grads[0].contiguous(), s[0], select_key_rows(s[1], s[9]), select_key_rows(s[2], s[9]),
        {s[3], s[4], s[5], s[6], s[7], s[8]},
        {ctx->saved_data["longest_queries"].toInt(), ctx->saved_data["longest_keys"].toInt()}, saved_rule(ctx));
    return {found[0],
            sum_key_row_gradients(found[1], s[1], s[9]),
            sum_key_row_gradients(found[2], s[2], s[9]),
            s[10].defined() ? sink_gradient(grads[0], s[3], s[4].t(), s[10]) : at::Tensor(),
            at::Tensor(),
            at::Tensor()};
  }
};

}  // namespace

at::Tensor sequence_bounds(const std::vector<int64_t>& cu) {
  return at::tensor(std::vector<int>(cu.begin(), cu.end()), at::kInt);
}

Pieces pieces_on(at::Device device, std::vector<int64_t> cu_queries, std::vector<int64_t> cu_keys) {
  Pieces pieces{std::move(cu_queries), std::move(cu_keys)};
  if (device.is_cpu() || device.is_meta()) return pieces;
  const auto to_device = [&](const std::vector<int64_t>& bounds) {
    return copy_to_device(sequence_bounds(bounds), device);
  };
  pieces.queries_on_device = to_device(pieces.cu_queries);
  pieces.keys_on_device = pieces.cu_keys == pieces.cu_queries ? pieces.queries_on_device : to_device(pieces.cu_keys);
  return pieces;
}

at::Tensor packed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::vector<int64_t>& cu_queries, const std::vector<int64_t>& cu_keys,
                            const ScoreRule& rule) {
  return packed_attention(q, k, v, pieces_on(q.device(), cu_queries, cu_keys), rule);
}

at::Tensor packed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Pieces& pieces,
                            const ScoreRule& rule, const at::Tensor& sinks) {
  const auto& [cu_queries, cu_keys, queries_on_device, keys_on_device, rows] = pieces;
  ROLL_CHECK_EQ(cu_queries.back(), q.size(0), "cu_queries covers every query");
  ROLL_CHECK_EQ(cu_keys.back(), rows.defined() ? rows.size(0) : k.size(0), "cu_keys covers every key");
  ROLL_CHECK_EQ(cu_queries.size(), cu_keys.size(), "every piece has queries and keys");
  ROLL_CHECK_EQ(q.size(1) % k.size(1), 0, "key/value heads divide query heads");
  if (q.is_meta()) {  // planned run: the right shape and dependencies
    const at::Tensor keys = k.sum() + v.sum();
    return q + (sinks.defined() ? keys + sinks.sum() : keys);
  }
  const auto given = sinks.defined() ? std::optional(sinks) : std::nullopt;
  if (q.is_cpu()) return CpuAttention::apply(q, k, v, given, pieces, rule);
  if (has_flash_kernel(q, rule)) return FlashAttention::apply(q, k, v, given, pieces, rule);
  return packed_attention_by_piece(q, select_key_rows(k, rows), select_key_rows(v, rows), pieces, rule, sinks);
}

}  // namespace roll
