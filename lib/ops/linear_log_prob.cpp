// The gradient by the logits overwrites the logits (log_prob_rows.h), so a chunk needs one buffer. The head's gradient
// is summed over chunks in float32.
#include "ops/linear_log_prob.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/error.h"
#include "ops/accumulating_linear.h"
#include "ops/layer_ops.h"
#include "ops/log_prob_rows.h"
#include "ops/packed_weight.h"
#include "ops/products.h"

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Computes the logits of `hidden` with one head, in float32 even if both are stored in a narrower dtype.
class Logits {
 public:
  explicit Logits(const at::Tensor& weight) : weight_(weight) {
    if (weight.is_cpu() && weight.scalar_type() != wide_dtype(weight)) packed_.emplace(weight);
  }
  at::Tensor operator()(const at::Tensor& hidden) const {
    if (packed_) return (*packed_)(hidden);
    if (hidden.scalar_type() == wide_dtype(hidden)) return linear_product(hidden, weight_);
    return at::mm(hidden, weight_.t(), at::kFloat);
  }

 private:
  at::Tensor weight_;
  std::optional<WideProduct> packed_;
};

/// Calls f(begin, end) with the rows of every chunk; never, if `hidden` has no data.
template <class F>
void for_each_chunk(const at::Tensor& hidden, int64_t chunk_rows, const F& f) {
  if (hidden.is_meta()) return;
  const int64_t rows = hidden.size(0);
  for (int64_t begin = 0; begin < rows; begin += chunk_rows) f(begin, std::min(rows, begin + chunk_rows));
}

/// Accumulates dHidden and dWeight chunk by chunk, for the rows that have labels.
struct Gradients {
  at::Tensor hidden, weight;  // undefined when not needed; weight is accumulated in the wide dtype
  at::Tensor kept;            // on a GPU: the head's existing .grad(), used in place of `weight`

  void add(const at::Tensor& d_logits, const at::Tensor& rows_hidden, const at::Tensor& head, int64_t begin,
           int64_t end) {
    const at::Tensor d = multipliable(d_logits);
    if (hidden.defined()) {
      at::Tensor part = hidden.slice(0, begin, end);
      if (d.scalar_type() == part.scalar_type())
        linear_product_out(part, d, head.t());
      else
        part.copy_(at::mm(d, multipliable(head)));
    }
    if (try_add_product(kept, d, rows_hidden) || !weight.defined()) return;
    if (weight.scalar_type() == d.scalar_type()) {
      add_product(weight, d, multipliable(rows_hidden));
    } else {
      weight.add_(at::mm(d.t(), rows_hidden));
    }
  }
};

/// Converts token ids to rows of this rank's shard; -1 if another rank holds them.
at::Tensor to_local_rows(const at::Tensor& labels, int64_t begin, int64_t rows) {
  const at::Tensor local = labels - begin;
  return local.masked_fill(local.lt(0).logical_or_(local.ge(rows)), -1);
}

/// Returns x [n, k] with 0 where another rank holds the id.
at::Tensor zero_other_ranks(const at::Tensor& x, const at::Tensor& local_ids) {
  return x.masked_fill(local_ids.lt(0), 0);
}

/// Returns the logits [n, k] of the rows `local_ids`; 0 where another rank holds the id.
at::Tensor logits_at(const at::Tensor& logits, const at::Tensor& local_ids) {
  return zero_other_ranks(logits.gather(1, local_ids.clamp_min(0)), local_ids);
}

/// Returns each row's sum of squared probabilities without its label's (-1: with all). Overwrites the logits.
at::Tensor unlabelled_squares(const at::Tensor& logits, const at::Tensor& labels, double temperature,
                              const at::Tensor& logsumexp) {
  logits.mul_(1 / temperature).sub_(logsumexp.unsqueeze(1)).exp_();
  const at::Tensor indices = labels.clamp_min(0).unsqueeze(1);
  logits.scatter_(1, indices, logits.gather(1, indices).masked_fill_(labels.ge(0).unsqueeze(1), 0));
  return logits.square_().sum(1);
}

/// Merges the ranks' results over their vocabulary shards. With w = exp(lse_r - lse) for shard r:
/// entropy = sum w (entropy_r - log w); squares (or undefined) = sum w^2 squares_r; a label's log-prob is its shard's
/// plus log w. **Collective**.
void merge_shards(const VocabularyShard& shard, const at::Tensor& local_labels, const RowResults& results,
                  const at::Tensor& squares) {
  const at::Tensor holds = local_labels.ge(0).to(results.log_probs.options());
  std::vector<at::Tensor> local = {results.log_probs * holds, results.entropy, results.logsumexp, holds};
  if (squares.defined()) local.push_back(squares);
  const at::Tensor all = shard.gather(at::stack(local));  // [ranks, 4 or 5, N]
  if (all.is_meta()) return;
  const at::Tensor lse = all.select(1, 2), whole = at::logsumexp(lse, 0), log_w = lse - whole;
  results.log_probs.copy_((all.select(1, 0) + log_w * all.select(1, 3)).sum(0));
  results.entropy.copy_((log_w.exp() * (all.select(1, 1) - log_w)).sum(0));
  results.logsumexp.copy_(whole);
  if (squares.defined()) squares.copy_((all.select(1, 4) * (2 * log_w).exp()).sum(0));
}

class LinearLogProb : public torch::autograd::Function<LinearLogProb> {
 public:
  /// Takes only rows with a label: hidden [N, E], labels [N]. Returns log_probs, entropy and, on request, energy [N] or
  /// the logits of choices [N, k].
  static variable_list forward(AutogradContext* ctx, const at::Tensor& hidden, const at::Tensor& weight,
                               const at::Tensor& all_labels, const LogProbOptions& request, int64_t chunk_rows,
                               bool keeps_logits) {
    const double temperature = request.temperature;
    const bool with_entropy = request.with_entropy, is_shard = static_cast<bool>(request.shard.gather);
    const at::Tensor labels = is_shard ? to_local_rows(all_labels, request.shard.begin, weight.size(0)) : all_labels;
    const at::Tensor readable = is_shard ? labels.clamp_min(0) : labels;
    const auto options = hidden.options().dtype(wide_dtype(hidden));
    const int64_t rows = hidden.size(0);
    const RowResults results{at::empty({rows}, options), at::zeros({rows}, options), at::empty({rows}, options)};
    const at::Tensor squares = request.with_energy ? at::empty({rows}, options) : at::Tensor();
    const at::Tensor choices =
        request.choices.defined() ? to_local_rows(request.choices, request.shard.begin, weight.size(0)) : at::Tensor();
    at::Tensor choice_logits = choices.defined() ? at::empty(choices.sizes(), options) : at::Tensor();
    const Logits head_logits(weight);
    for_each_chunk(hidden, chunk_rows, [&](int64_t begin, int64_t end) {
      const auto part = [&](const at::Tensor& x) { return x.slice(0, begin, end); };
      const at::Tensor logits = head_logits(part(hidden));
      cap_logits(logits, request.cap);
      if (choices.defined()) part(choice_logits).copy_(logits_at(logits, part(choices)));
      log_prob_rows(logits, part(readable), temperature, with_entropy,
                    {part(results.log_probs), part(results.entropy), part(results.logsumexp)});
      if (keeps_logits) ctx->saved_data["logits"] = logits;
      if (request.with_energy)
        part(squares).copy_(unlabelled_squares(logits, part(labels), temperature, part(results.logsumexp)));
    });
    if (is_shard) merge_shards(request.shard, labels, results, squares);
    if (is_shard && choices.defined()) choice_logits = request.shard.gather(choice_logits).sum(0);
    ctx->save_for_backward({hidden, weight, labels, results.logsumexp, results.entropy});
    if (choices.defined()) ctx->saved_data["choices"] = choices;
    ctx->saved_data["temperature"] = temperature;
    ctx->saved_data["cap"] = request.cap;
    ctx->saved_data["with_entropy"] = with_entropy;
    ctx->saved_data["chunk_rows"] = chunk_rows;
    // The gradient of the log-prob by logit j is [j is the label] - p_j.
    if (request.with_energy) return {results.log_probs, results.entropy, squares + results.log_probs.expm1().square()};
    if (choices.defined()) return {results.log_probs, results.entropy, choice_logits};
    return {results.log_probs, results.entropy};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &hidden = saved[0], &weight = saved[1], &labels = saved[2];
    const double temperature = ctx->saved_data["temperature"].toDouble(), cap = ctx->saved_data["cap"].toDouble();
    const at::Tensor d_log_probs = grads[0].contiguous();
    const at::Tensor d_entropy = ctx->saved_data["with_entropy"].toBool() ? grads[1].contiguous() : at::Tensor();
    const auto found = ctx->saved_data.find("choices");
    const at::Tensor choices = found == ctx->saved_data.end() ? at::Tensor() : found->second.toTensor();
    Gradients sums;
    if (ctx->needs_input_grad(0)) sums.hidden = at::empty_like(hidden);
    if (ctx->needs_input_grad(1)) {
      if (!weight.is_cpu()) sums.kept = weight.grad();
      if (!sums.kept.defined()) sums.weight = at::zeros_like(weight, weight.options().dtype(wide_dtype(weight)));
    }
    std::optional<Logits> head_logits;
    for_each_chunk(hidden, ctx->saved_data["chunk_rows"].toInt(), [&](int64_t begin, int64_t end) {
      const auto part = [&](const at::Tensor& x) { return x.defined() ? x.slice(0, begin, end) : x; };
      const at::Tensor logits = take_logits(ctx, part(hidden), weight, head_logits);
      const at::Tensor slopes = cap > 0 ? 1 - (logits / cap).square() : at::Tensor();
      const at::Tensor d_capped =
          log_prob_rows_gradient(logits, part(labels), temperature, {at::Tensor(), part(saved[4]), part(saved[3])},
                                 {part(d_log_probs), part(d_entropy)}, weight.scalar_type());
      if (choices.defined())
        d_capped.scatter_add_(1, part(choices).clamp_min(0),
                              zero_other_ranks(part(grads[2]), part(choices)).to(d_capped.scalar_type()));
      const at::Tensor d_logits = cap > 0 ? (d_capped * slopes).to(d_capped.scalar_type()) : d_capped;
      sums.add(d_logits, part(hidden), weight, begin, end);
    });
    if (sums.weight.defined()) sums.weight = sums.weight.to(weight.scalar_type());
    return {sums.hidden, sums.weight, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }

 private:
  /// Returns the chunk's logits: those kept by forward, which the gradient then overwrites, or recomputed ones.
  static at::Tensor take_logits(AutogradContext* ctx, const at::Tensor& hidden, const at::Tensor& weight,
                                std::optional<Logits>& head_logits) {
    const auto kept = ctx->saved_data.find("logits");
    if (kept == ctx->saved_data.end()) {
      if (!head_logits) head_logits.emplace(weight);
      const at::Tensor logits = (*head_logits)(hidden);
      cap_logits(logits, ctx->saved_data["cap"].toDouble());
      return logits;
    }
    const at::Tensor logits = kept->second.toTensor();
    ctx->saved_data.erase(kept);
    return logits;
  }
};

/// Scatters x [N] or [N, k] to `rows` of a zero tensor [T] or [T, k].
at::Tensor scattered(const at::Tensor& x, const at::Tensor& rows, int64_t tokens) {
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes[0] = tokens;
  return at::zeros(sizes, x.options()).index_put({rows}, x);
}

/// Returns the k largest of each row of `logits` [n, V], with ids that begin at `begin`. If V < k, -inf fills the rest.
TopLogits largest_logits(const at::Tensor& logits, int64_t k, int64_t begin) {
  const auto [values, indices] = logits.topk(std::min(k, logits.size(1)), 1);
  const std::array<int64_t, 2> padding = {0, k - values.size(1)};
  return {at::constant_pad_nd(values, padding, -std::numeric_limits<double>::infinity()),
          at::constant_pad_nd(indices + begin, padding, 0)};
}

int64_t rows_per_chunk(const at::Tensor& hidden, const at::Tensor& weight, int64_t chunk_bytes) {
  const int64_t row_bytes = weight.size(0) * static_cast<int64_t>(at::elementSize(wide_dtype(hidden)));
  return std::max<int64_t>(1, chunk_bytes / row_bytes);
}

}  // namespace

at::Tensor wide_logits(const at::Tensor& hidden, const at::Tensor& weight) {
  return Logits(weight)(hidden);
}

void cap_logits(const at::Tensor& logits, double cap) {
  if (cap > 0) logits.div_(cap).tanh_().mul_(cap);
}

LogProbs linear_log_prob(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                         const LogProbOptions& options) {
  ROLL_CHECK(options.temperature > 0, "the configuration was checked");
  ROLL_CHECK(!options.with_energy || !at::GradMode::is_enabled(),
             "the energy overwrites the logits, so autograd must be off");
  ROLL_CHECK_EQ(hidden.size(1), weight.size(1), "the head reads the hidden size");
  ROLL_CHECK_EQ(hidden.size(0), labels.size(0), "one label per token");
  ROLL_CHECK(!options.with_energy || !options.choices.defined(), "energy and choices cannot be requested together");
  const int64_t chunk_rows = rows_per_chunk(hidden, weight, options.chunk_bytes);
  const at::Tensor rows = options.rows.defined() ? options.rows : labels.ge(0).nonzero().squeeze(1);
  const bool keeps_logits = at::GradMode::is_enabled() && rows.size(0) <= chunk_rows;
  LogProbOptions row_options = options;
  if (options.choices.defined()) row_options.choices = options.choices.index_select(0, rows);
  const variable_list found = LinearLogProb::apply(select_rows(hidden, rows), weight, labels.index_select(0, rows),
                                                   row_options, chunk_rows, keeps_logits);
  LogProbs result;
  result.log_probs = scattered(found[0], rows, hidden.size(0));
  if (options.with_entropy) result.entropy = scattered(found[1], rows, hidden.size(0));
  if (options.with_energy) result.energy = scattered(found[2], rows, hidden.size(0));
  if (options.choices.defined()) result.choice_logits = scattered(found[2], rows, hidden.size(0));
  return result;
}

TopLogits top_logits(const at::Tensor& hidden, const at::Tensor& weight, int64_t k, int64_t vocabulary,
                     const LogProbOptions& options) {
  const int64_t begin = options.shard.begin, columns = std::clamp<int64_t>(vocabulary - begin, 0, weight.size(0));
  const auto numbers = hidden.options().dtype(wide_dtype(hidden));
  const TopLogits local_top{at::empty({hidden.size(0), k}, numbers),
                            at::empty({hidden.size(0), k}, numbers.dtype(at::kLong))};
  const Logits head_logits(weight);
  for_each_chunk(hidden, rows_per_chunk(hidden, weight, options.chunk_bytes), [&](int64_t from, int64_t to) {
    const at::Tensor logits = head_logits(hidden.slice(0, from, to));
    cap_logits(logits, options.cap);
    const TopLogits top = largest_logits(logits.narrow(1, 0, columns), k, begin);
    local_top.logits.slice(0, from, to).copy_(top.logits);
    local_top.ids.slice(0, from, to).copy_(top.ids);
  });
  if (!options.shard.gather) return local_top;
  const auto gather_ranks = [&](const at::Tensor& local) {
    return options.shard.gather(local).transpose(0, 1).flatten(1);
  };
  const auto [logits, indices] = gather_ranks(local_top.logits).topk(k, 1);
  return {logits, gather_ranks(local_top.ids).gather(1, indices)};
}

}  // namespace roll
