// This file builds without CUDA too: LibTorch's operators are dispatched by name.
#include "ops/attention_backends.h"

#include <ATen/ATen.h>

#include <cmath>

namespace roll {

namespace {

constexpr int64_t kLargestFlashHead = 256;

/// Returns the number of keys in the window before the query's own; nullopt without a window.
std::optional<int64_t> earlier_keys(const ScoreRule& rule) {
  return rule.window > 0 ? std::optional<int64_t>(rule.window - 1) : std::nullopt;
}

/// Returns the mask [queries, keys] of seen keys: the last query sees all within the window.
at::Tensor seen_keys(int64_t queries, int64_t keys, int64_t window, const at::TensorOptions& options) {
  const at::Tensor seen = at::ones({queries, keys}, options.dtype(at::kBool)).tril(keys - queries);
  return window > 0 ? seen.triu(keys - queries + 1 - window) : seen;
}

/// Computes what scaled_dot_product_attention() lacks: capped scores, and sinks.
at::Tensor plain_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& seen,
                           const ScoreRule& rule, const at::Tensor& sinks) {
  const int64_t group = q.size(1) / k.size(1);
  const auto shared = [&](const at::Tensor& x) { return group > 1 ? x.repeat_interleave(group, 1) : x; };
  const at::Tensor scores = at::matmul(q, shared(k).transpose(2, 3)).mul(rule.scale);
  const at::Tensor wide = scores.to(at::promote_types(q.scalar_type(), at::kFloat));
  const at::Tensor capped = rule.cap > 0 ? (wide / rule.cap).tanh() * rule.cap : wide;
  at::Tensor masked = capped.masked_fill(seen.logical_not(), -INFINITY);
  if (sinks.defined()) {
    const at::Tensor scores_of_sinks = sinks.to(wide.scalar_type()).view({1, -1, 1, 1});
    masked = at::cat({masked, scores_of_sinks.expand({1, -1, masked.size(2), 1})}, 3);
  }
  return at::matmul(masked.softmax(-1).narrow(3, 0, k.size(2)).to(q.scalar_type()), shared(v));
}

/// Computes attention over one key head without masks of LibTorch's own: the query heads become rows, so that keys are
/// not repeated for them. Blocks of queries bound the scores. q [n, H, D], k and v [K, 1, D] -> [n, H, D].
at::Tensor shared_key_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const ScoreRule& rule) {
  constexpr int64_t kMostScores = 64 << 20;
  const int64_t heads = q.size(1), keys = k.size(0), earlier = keys - q.size(0);
  const int64_t block = std::max<int64_t>(1, kMostScores / std::max<int64_t>(1, heads * keys));
  const at::Tensor all_keys = k.squeeze(1), all_values = v.squeeze(1);
  std::vector<at::Tensor> outputs;
  for (int64_t first = 0; first < q.size(0); first += block) {
    const int64_t count = std::min(block, q.size(0) - first);
    const at::Tensor seen = seen_keys(count, earlier + first + count, rule.window, q.options());
    const at::Tensor rows = q.narrow(0, first, count).reshape({count * heads, -1});
    const at::Tensor scores = at::matmul(rows, all_keys.narrow(0, 0, seen.size(1)).t())
                                  .to(at::promote_types(q.scalar_type(), at::kFloat))
                                  .view({count, heads, -1})
                                  .mul(rule.scale)
                                  .masked_fill(seen.logical_not().unsqueeze(1), -INFINITY);
    outputs.push_back(at::matmul(scores.softmax(-1).to(q.scalar_type()), all_values.narrow(0, 0, seen.size(1))));
  }
  return at::cat(outputs, 0);
}

}  // namespace

bool has_flash_kernel(const at::Tensor& q, const ScoreRule& rule) {
  const bool is_half = q.scalar_type() == at::kBFloat16 || q.scalar_type() == at::kHalf;
  return rule.cap == 0 && is_half && q.size(2) % 8 == 0 && q.size(2) <= kLargestFlashHead;
}

FlashResult flash_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Pieces& pieces,
                          const ScoreRule& rule) {
  const at::Tensor &cu_queries = pieces.queries_on_device, &cu_keys = pieces.keys_on_device;
  const auto [out, logsumexp, rng_state, unused, mask] = at::_flash_attention_forward(
      q, k, v, cu_queries, cu_keys, longest_sequence(pieces.cu_queries), longest_sequence(pieces.cu_keys), 0.0,
      /*is_causal=*/true, false, rule.scale, earlier_keys(rule),
      rule.window > 0 ? std::optional<int64_t>(0) : std::nullopt);
  return {out, logsumexp, rng_state, unused, cu_queries, cu_keys};
}

std::vector<at::Tensor> flash_backward(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, const FlashResult& forward, LongestPiece longest,
                                       const ScoreRule& rule) {
  const auto [dq, dk, dv] = at::_flash_attention_backward(
      grad_out, q, k, v, forward.out, forward.logsumexp, forward.cu_queries, forward.cu_keys, longest.queries,
      longest.keys, 0.0, /*is_causal=*/true, forward.rng_state, forward.unused, rule.scale, earlier_keys(rule),
      rule.window > 0 ? std::optional<int64_t>(0) : std::nullopt);
  return {dq, dk, dv};
}

at::Tensor packed_attention_by_piece(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const Pieces& pieces, const ScoreRule& rule, const at::Tensor& sinks) {
  std::vector<at::Tensor> outputs;
  const bool is_plain = rule.cap > 0 || sinks.defined();
  for (size_t c = 0; c + 1 < pieces.cu_queries.size(); ++c) {
    if (!is_plain && k.size(1) == 1 && q.size(1) > 1 && q.size(2) > kLargestFlashHead) {  // latents in sampling
      outputs.push_back(shared_key_attention(q.slice(0, pieces.cu_queries[c], pieces.cu_queries[c + 1]),
                                             k.slice(0, pieces.cu_keys[c], pieces.cu_keys[c + 1]),
                                             v.slice(0, pieces.cu_keys[c], pieces.cu_keys[c + 1]), rule));
      continue;
    }
    const auto part = [&](const at::Tensor& x, const std::vector<int64_t>& cu) {
      return x.slice(0, cu[c], cu[c + 1]).transpose(0, 1).unsqueeze(0);
    };
    const at::Tensor queries = part(q, pieces.cu_queries), keys = part(k, pieces.cu_keys);
    const int64_t earlier = keys.size(2) - queries.size(2);
    std::optional<at::Tensor> seen;  // LibTorch's own causal mask lets the first query see the first key only
    const bool has_own_mask = earlier > 0 || rule.window > 0 || is_plain;
    if (has_own_mask) seen = seen_keys(queries.size(2), keys.size(2), rule.window, q.options());
    const at::Tensor values = part(v, pieces.cu_keys);
    const at::Tensor out = is_plain ? plain_attention(queries, keys, values, *seen, rule, sinks)
                                    : at::scaled_dot_product_attention(queries, keys, values, seen, 0.0, !has_own_mask,
                                                                       rule.scale, q.size(1) != k.size(1));
    outputs.push_back(out.squeeze(0).transpose(0, 1));
  }
  return at::cat(outputs, 0);
}

}  // namespace roll
