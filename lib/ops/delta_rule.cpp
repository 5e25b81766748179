#include "ops/delta_rule.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "device/transfers.h"

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kLongestChunk = 64;
constexpr double kLengthEps = 1e-6;  // added to the square of a key's or query's length

/// Short convolution: the sum over taps of weighted rows. It saves the rows once for backward.
class Convolution : public torch::autograd::Function<Convolution> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& rows, const at::Tensor& taps,
                            const at::Tensor& index) {
    ctx->save_for_backward({rows, taps, index});
    at::Tensor sum;
    for (int64_t w = 0; w < taps.size(1); ++w) {
      const at::Tensor term = rows.index_select(0, index[w]).mul_(taps.select(1, w));
      sum = w == 0 ? term : sum.add_(term);
    }
    return sum;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &rows = saved[0], &taps = saved[1], &index = saved[2], &grad = grads[0];
    at::Tensor by_rows = at::zeros_like(rows), by_taps = at::empty_like(taps);
    for (int64_t w = 0; w < taps.size(1); ++w) {
      by_rows.index_add_(0, index[w], grad * taps.select(1, w));
      by_taps.select(1, w).copy_((grad * rows.index_select(0, index[w])).sum(0));
    }
    return {by_rows, by_taps, at::Tensor()};
  }
};

/// Appends the sequences' tails to the rows: zeros for sequences that begin.
at::Tensor with_tails(const at::Tensor& mixed, const DeltaPlan& plan, const at::Tensor& tails) {
  const int64_t channels = mixed.size(1);
  return at::cat({mixed, tails.defined() ? tails.to(mixed.scalar_type()).reshape({-1, channels})
                                         : at::zeros({plan.tails.numel(), channels}, mixed.options())});
}

/// Normalises the last dimension to length 1.
at::Tensor directions(const at::Tensor& x) {
  return x * at::rsqrt(x.square().sum(-1, /*keepdim=*/true) + kLengthEps);
}

/// Heads after the convolution, [T, Hv, Dk] (q, k) and [T, Hv, Dv] (v).
struct Convolved {
  at::Tensor q, k, v;
};

Convolved convolved_heads(const DeltaHeads& heads, const at::Tensor& convolved) {
  const int64_t keys = heads.key_heads * heads.key_dim, value_heads_per_key_head = heads.value_heads / heads.key_heads;
  const auto unit_heads = [&](int64_t begin) {  // repeats each key head for `value_heads_per_key_head` value heads
    const at::Tensor unit_keys =
        directions(convolved.narrow(1, begin, keys).reshape({-1, heads.key_heads, 1, heads.key_dim}));
    return unit_keys.expand({-1, -1, value_heads_per_key_head, -1}).reshape({-1, heads.value_heads, heads.key_dim});
  };
  return {unit_heads(0) / std::sqrt(static_cast<double>(heads.key_dim)), unit_heads(keys),
          convolved.narrow(1, 2 * keys, heads.value_heads * heads.value_dim)
              .reshape({-1, heads.value_heads, heads.value_dim})};
}

/// Computes one token of each sequence and updates `states`.
at::Tensor step_states(const Convolved& x, const at::Tensor& decay, const at::Tensor& rate, at::Tensor& states) {
  states = states * decay.exp().unsqueeze(-1).unsqueeze(-1);
  const at::Tensor read = at::matmul(x.k.unsqueeze(-2), states);  // [B, Hv, 1, Dv]
  const at::Tensor wrong = (x.v.unsqueeze(-2) - read) * rate.unsqueeze(-1).unsqueeze(-1);
  states = states + x.k.unsqueeze(-1) * wrong;
  return at::matmul(x.q.unsqueeze(-2), states).squeeze(-2);
}

/// Arranges x [T, Hv, ...] in chunks, [n, Hv, chunk, ...], padded with zeros.
at::Tensor in_chunks(const at::Tensor& x, const DeltaPlan& plan) {
  std::vector<int64_t> shape = x.sizes().vec();
  shape[0] = 1;
  const at::Tensor padded = at::cat({x, at::zeros(shape, x.options())}).index_select(0, plan.chunked);
  shape[0] = plan.chunk;
  shape.insert(shape.begin(), -1);
  return padded.view(shape).transpose(1, 2).contiguous();
}

/// Computes all tokens chunk by chunk and updates `states`, which are in the plan's order; null: they start from zero.
at::Tensor scan_chunks(const Convolved& x, const at::Tensor& decay, const at::Tensor& rate, const DeltaPlan& plan,
                       at::Tensor* states) {
  const at::Tensor q = in_chunks(x.q, plan), k = in_chunks(x.k, plan), v = in_chunks(x.v, plan);
  const at::Tensor b = in_chunks(rate, plan).unsqueeze(-1), sums = in_chunks(decay, plan).cumsum(-1);
  const at::Tensor later = at::ones({plan.chunk, plan.chunk}, q.options().dtype(at::kBool)).triu(1);
  const at::Tensor between = (sums.unsqueeze(-1) - sums.unsqueeze(-2))
                                 .masked_fill(later, -std::numeric_limits<double>::infinity())
                                 .exp();  // the decay from a token to a later one
  const at::Tensor since = sums.exp().unsqueeze(-1), until = (sums.narrow(-1, plan.chunk - 1, 1) - sums).exp();
  const at::Tensor system = at::matmul(k * b, k.transpose(-1, -2)) * between;
  const at::Tensor solved = at::linalg_solve_triangular(system, at::cat({v * b, k * b * since}, -1), /*upper=*/false,
                                                        /*left=*/true, /*unitriangular=*/true);
  const at::Tensor values = solved.narrow(-1, 0, v.size(-1)), read_by = solved.narrow(-1, v.size(-1), k.size(-1));
  const at::Tensor seen = at::matmul(q, k.transpose(-1, -2)) * between, asked = q * since;
  const at::Tensor kept = (k * until.unsqueeze(-1)).transpose(-1, -2), all = sums.select(-1, plan.chunk - 1).exp();
  at::Tensor state =
      states ? *states : at::zeros({plan.active.front(), v.size(1), k.size(-1), v.size(-1)}, v.options());
  std::vector<at::Tensor> outs, ended;
  int64_t first = 0;
  for (size_t i = 0; i < plan.active.size(); ++i) {
    const int64_t count = plan.active[i];
    const auto active_part = [&](const at::Tensor& chunks) { return chunks.narrow(0, first, count); };
    if (state.size(0) > count) {
      if (states) ended.push_back(state.narrow(0, count, state.size(0) - count));
      state = state.narrow(0, 0, count);
    }
    const at::Tensor corrected = active_part(values) - at::matmul(active_part(read_by), state);
    outs.push_back(at::matmul(active_part(asked), state) + at::matmul(active_part(seen), corrected));
    if (states || i + 1 < plan.active.size())
      state = state * active_part(all).unsqueeze(-1).unsqueeze(-1) + at::matmul(active_part(kept), corrected);
    first += count;
  }
  if (states) {
    ended.push_back(state);
    std::ranges::reverse(ended);
    *states = at::cat(ended);
  }
  return at::cat(outs).transpose(1, 2).reshape({-1, v.size(1), v.size(-1)}).index_select(0, plan.chunk_indices);
}

}  // namespace

DeltaPlan plan_delta(std::vector<int64_t> cu_seqlens, int64_t num_taps, at::Device device) {
  const int64_t sequences = std::ssize(cu_seqlens) - 1, tokens = cu_seqlens.back(), before = num_taps - 1;
  const auto length = [&](int64_t b) { return cu_seqlens[b + 1] - cu_seqlens[b]; };
  std::vector<int64_t> order(sequences), back(sequences), taps(num_taps * tokens), tails, chunked,
      chunk_indices(tokens);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return length(a) > length(b); });
  for (int64_t b = 0; b < sequences; ++b) {
    back[order[b]] = b;
    ROLL_CHECK(length(b) > 0, "every sequence has a token");
    // Returns the row `offset` tokens after the sequence's first one; offset < 0: a row of its tail.
    const auto row = [&](int64_t offset) {
      return offset >= 0 ? cu_seqlens[b] + offset : tokens + (b + 1) * before + offset;
    };
    for (int64_t i = 0; i < length(b); ++i)
      for (int64_t w = 0; w < num_taps; ++w) taps[w * tokens + cu_seqlens[b] + i] = row(i - before + w);
    for (int64_t i = length(b) - before; i < length(b); ++i) tails.push_back(row(i));
  }
  DeltaPlan plan{.chunk = std::min(kLongestChunk, length(order.front()))};
  for (int64_t begin = 0; begin < length(order.front()); begin += plan.chunk) {
    plan.active.push_back(0);
    for (const int64_t b : order) {
      if (length(b) <= begin) break;
      ++plan.active.back();
      for (int64_t i = begin; i < begin + plan.chunk; ++i) {
        if (i < length(b)) chunk_indices[cu_seqlens[b] + i] = std::ssize(chunked);
        chunked.push_back(i < length(b) ? cu_seqlens[b] + i : tokens);
      }
    }
  }
  const auto to_device = [&](const std::vector<int64_t>& values) {
    return copy_to_device(at::tensor(values, at::kLong), device);
  };
  plan.taps = to_device(taps).view({num_taps, tokens});
  plan.tails = to_device(tails).view({sequences, before});
  plan.chunked = to_device(chunked);
  plan.chunk_indices = to_device(chunk_indices);
  plan.order = to_device(order);
  plan.back = to_device(back);
  plan.cu_seqlens = std::move(cu_seqlens);
  return plan;
}

at::Tensor gated_delta_rule(const DeltaHeads& heads, const DeltaRows& rows, const DeltaPlan& plan,
                            DeltaStates* states) {
  const at::ScalarType wide = rows.decay.scalar_type();
  ROLL_CHECK_EQ(plan.cu_seqlens.back(), rows.mixed.size(0), "the plan was made for these tokens");
  const at::Tensor before = with_tails(rows.mixed.to(wide), plan, states ? states->tails : at::Tensor());
  const Convolved x = convolved_heads(heads, at::silu(Convolution::apply(before, rows.taps.to(wide), plan.taps)));
  if (!states) return scan_chunks(x, rows.decay, rows.rate, plan, nullptr);
  states->tails = before.index_select(0, plan.tails.view({-1})).view({plan.tails.size(0), -1, before.size(1)});
  at::Tensor state = states->heads.to(wide).index_select(0, plan.order);
  const bool is_step = plan.cu_seqlens.back() == plan.tails.size(0);  // then the plan's order is the given one
  const at::Tensor out =
      is_step ? step_states(x, rows.decay, rows.rate, state) : scan_chunks(x, rows.decay, rows.rate, plan, &state);
  states->heads = state.index_select(0, plan.back);
  return out;
}

}  // namespace roll
