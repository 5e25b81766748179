#include "decode/cpu_decoder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/parameter_shards.h"
#include "ops/fixed_rows.h"
#include "ops/row_ops.h"

namespace roll {

namespace {

constexpr int64_t kQueriesAtOnce = 8;  // queries of a sequence that share a block of keys in cache
constexpr int64_t kRowsPerTask = 4;    // rows per task between GEMMs
constexpr int64_t kGatedRows = 128;    // rows whose gate and up products fit a thread's scratch memory

/// Calls f(i) for each row, shared among the team.
template <class F>
void for_rows(ThreadTeam::Member& member, int64_t count, const F& f) {
  member.share((count + kRowsPerTask - 1) / kRowsPerTask, [&](int64_t task) {
    for (int64_t i = task * kRowsPerTask; i < std::min(count, (task + 1) * kRowsPerTask); ++i) f(i);
  });
}

}  // namespace

bool has_cpu_decoder(const Transformer& model) {
  const Features features = layer_features(model.spec());
  return model.device().is_cpu() && (model.dtype() == at::kFloat || model.dtype() == at::kBFloat16) &&
         CpuMixers::include_all(model.spec().layers()) && features.are_within(kCpuFeatures) &&
         (model.parallel().tp_size() == 1 || !features.has(Feature::kWideHeadNorm));
}

template <class T>
CpuDecoder<T>::CpuDecoder(const Transformer& model, const DecoderSizes& sizes)
    : model_(model), backbone_(model.backbone()), sizes_(sizes), record_(model.spec(), sizes) {
  ROLL_CHECK(model.device().is_cpu() && model.dtype() == kDtype, "a model of this decoder's numbers, on the CPU");
  hidden_ = model.spec().hidden_size;
  eps_ = static_cast<float>(model.spec().rms_norm_eps);
  pack_weights();
  angles_ = rope_angles(model.spec(), sizes.max_length);
  make_buffers();
}

template <class T>
void CpuDecoder<T>::make_buffers() {
  int64_t qkv = 0, mixed = 0, gated = 0, branch = 0;  // maximum widths
  int64_t logits = 0, chosen = 0, expert_gated = 0;   // MoE
  int64_t rates = 0;                                  // delta nets
  for (const DecoderBlock& block : blocks_) {
    if (const auto* attention = std::get_if<AttentionBlock>(&block.mixer)) {
      qkv = std::max(qkv, attention->qkv.padded_outputs());
      mixed = std::max(mixed, attention->heads * attention->head_dim);
      branch = std::max(branch, attention->o.padded_outputs());
    } else if (const auto* mlp = std::get_if<GatedBlock>(&block.mixer)) {
      gated = std::max(gated, mlp->gate.padded_outputs());
      branch = std::max(branch, mlp->down.padded_outputs());
    } else if (const auto* experts = std::get_if<ExpertsBlock>(&block.mixer)) {
      logits = std::max(logits, experts->router.padded_outputs());
      chosen = std::max(chosen, experts->routing.chosen);
      expert_gated = std::max(expert_gated, experts->gates[0].padded_outputs());
      branch = std::max(branch, experts->downs[0].padded_outputs());
      if (experts->shared) gated = std::max(gated, experts->shared->gate.padded_outputs());
    } else if (const auto* net = std::get_if<DeltaBlock>(&block.mixer)) {
      qkv = std::max(qkv, net->qkvz.padded_outputs());
      rates = std::max(rates, net->ba.padded_outputs());
      mixed = std::max(mixed, net->heads.value_heads * net->heads.value_dim);
      branch = std::max(branch, net->o.padded_outputs());
    } else if (const auto* latent = std::get_if<LatentBlock>(&block.mixer)) {
      qkv = std::max(qkv, latent->down.padded_outputs());
      mixed = std::max(mixed, latent->heads * latent->value_dim);
      branch = std::max(branch, latent->o.padded_outputs());
    }
  }
  const auto tensor_rows = [&](int64_t width, at::ScalarType dtype = at::kFloat) {
    return at::empty({sizes_.max_rows, width}, dtype);
  };
  x_ = tensor_rows(hidden_);
  qkv_ = tensor_rows(qkv);
  branch_ = tensor_rows(branch);
  input_ = tensor_rows(hidden_, kDtype);
  mixed_ = tensor_rows(mixed, kDtype);
  gated_ = tensor_rows(gated, kDtype);
  router_logits_ = tensor_rows(logits);
  rates_ = tensor_rows(rates);
  const auto choice_rows = [&](int64_t width, at::ScalarType dtype) {
    return at::empty({sizes_.max_rows * chosen, width}, dtype);
  };
  expert_input_ = choice_rows(hidden_, kDtype);
  expert_gated_ = choice_rows(expert_gated, kDtype);
  expert_results_ = choice_rows(branch, at::kFloat);
  make_latent_buffers();
  const int64_t widest = std::max({hidden_, mixed, gated, expert_gated, query_latents_.size(1)});
  if (sizes_.weight_bits > 0)
    fixed_ = at::empty({sizes_.max_rows * std::max<int64_t>(1, chosen), fixed_row_bytes(widest)}, at::kByte);
}

template <class T>
void CpuDecoder<T>::copy_page(int64_t from, int64_t to) {
  record_.copy_page(from, to);
  const auto copy = [&](const at::Tensor& pages) { pages[to].copy_(pages[from]); };
  for (const DecoderBlock& block : blocks_)
    if (const auto* attention = std::get_if<AttentionBlock>(&block.mixer))
      copy(attention->keys), copy(attention->values);
    else if (const auto* net = std::get_if<DeltaBlock>(&block.mixer))
      copy(net->states), copy(net->tails);
    else if (const auto* latent = std::get_if<LatentBlock>(&block.mixer))
      copy(latent->pages);
}

template <class T>
LogitRows CpuDecoder<T>::run(std::span<const DecoderRow> rows, std::span<const int64_t> logit_rows) {
  ROLL_CHECK(std::ssize(rows) <= sizes_.max_rows, "the rows fit the buffers");
  const at::NoGradGuard no_grad;
  rows_ = rows;
  logit_rows_ = logit_rows;
  expert_bytes_ = 0;
  runs_.clear();
  for (int64_t i = 0; i < std::ssize(rows); ++i) {
    const bool joins = !runs_.empty() && rows[i].pages == rows[i - 1].pages && runs_.back().count < kQueriesAtOnce;
    if (joins)
      ++runs_.back().count;
    else
      runs_.push_back({i, 1});
  }
  if (model_.spec().delta) lay_out_rounds();
  if (!logits_.defined() || logits_.size(0) < std::ssize(logit_rows))
    logits_ = at::empty({std::ssize(logit_rows), lm_head_.padded_outputs()}, at::kFloat);
  team_.run([&](Member& member) { run_rows(member); });
  const at::Tensor& all = gathered_.defined() ? gathered_ : logits_;
  return {all.const_data_ptr<float>(), all.stride(0)};
}

template <class T>
void CpuDecoder<T>::run_rows(Member& member) {
  embed(member);
  const DecoderBlock* last = nullptr;  // block whose branch must be added
  for (const DecoderBlock& block : blocks_) {
    add_and_norm(member, last, block.norm);
    std::visit([&](const auto& mixer) { mix(member, mixer); }, block.mixer);
    sum_over_ranks(member, branch_);
    last = &block;
  }
  compute_logits(member);
  PackedWeight::release();
}

template <class T>
void CpuDecoder<T>::mix(Member& member, const AttentionBlock& block) {
  multiply(member, block.qkv, tensor_rows<T>(input_), std::ssize(rows_), tensor_rows(qkv_));
  store_heads(member, block);
  attend(member, block);
  multiply(member, block.o, tensor_rows<T>(mixed_), std::ssize(rows_), tensor_rows(branch_));
}

template <class T>
void CpuDecoder<T>::mix(Member& member, const GatedBlock& block) {
  gate(member, block);
  multiply(member, block.down, tensor_rows<T>(gated_), std::ssize(rows_), tensor_rows(branch_));
}

template <class T>
void CpuDecoder<T>::embed(Member& member) {
  const auto* const embedding = embedding_.const_data_ptr<T>();
  const ModelParallel& parallel = backbone_.parallel();
  const TensorShard part = vocabulary_shard(model_.spec(), parallel.tp_rank(), parallel.tp_size());
  const Rows x = tensor_rows(x_);
  const auto scale = static_cast<float>(backbone_.embedding_scale());
  for_rows(member, std::ssize(rows_), [&](int64_t i) {
    const int64_t token = rows_[i].token;
    if (token >= part.begin && token < part.end)
      widen_row(embedding + (token - part.begin) * hidden_, x[i], hidden_);
    else
      std::fill_n(x[i], hidden_, 0.0f);
    for (int64_t d = 0; scale != 1 && d < hidden_; ++d) x[i][d] *= scale;
  });
  sum_over_ranks(member, x_);
}

/// Computes x += scale * after(branch + bias).
template <class T>
void CpuDecoder<T>::add_branch(const DecoderBlock& block, float* x, float* branch) const {
  const float *const bias = data_or_null(block.out_bias), *const after = data_or_null(block.after);
  if (!after) return add_to_row(x, branch, bias, hidden_, block.scale);
  if (bias) add_to_row(branch, bias, nullptr, hidden_);
  norm_row(branch, after, branch, hidden_, eps_);
  add_to_row(x, branch, nullptr, hidden_, block.scale);
}

/// Adds the branch of the previous block (null: none) to the residual stream and computes the next GEMM's input.
template <class T>
void CpuDecoder<T>::add_and_norm(Member& member, const DecoderBlock* last, const at::Tensor& norm) {
  const float* const weight = data_or_null(norm);
  const Rows x = tensor_rows(x_), branch = tensor_rows(branch_);
  const Inputs input = tensor_rows<T>(input_);
  for_rows(member, std::ssize(rows_), [&](int64_t i) {
    if (last) add_branch(*last, x[i], branch[i]);
    if (weight)
      norm_row(x[i], weight, input[i], hidden_, eps_);
    else
      narrow_row(x[i], input[i], hidden_);
  });
}

template <class T>
typename CpuDecoder<T>::Operand CpuDecoder<T>::operand(Member& member, const PackedWeight& weight, Inputs x,
                                                       int64_t rows) {
  if (!weight.reads_fixed_rows()) return x;
  const RowView<uint8_t> fixed{fixed_.mutable_data_ptr<uint8_t>(), fixed_row_bytes(weight.inputs())};
  for_rows(member, rows, [&](int64_t i) { fix_row(x[i], weight.inputs(), fixed[i]); });
  return fixed;
}

template <class T>
void CpuDecoder<T>::multiply_panel(const PackedWeight& weight, int64_t panel, const Operand& x, int64_t first,
                                   int64_t count, Rows y, int64_t next) {
  std::visit([&](const auto& rows) { weight.multiply(panel, rows[first], rows.stride, count, y.data, y.stride, next); },
             x);
}

template <class T>
void CpuDecoder<T>::multiply(Member& member, const PackedWeight& weight, Inputs x, int64_t rows, Rows y) {
  const Operand input = operand(member, weight, x, rows);
  member.share(weight.num_panels(), [&](int64_t panel) {
    multiply_panel(weight, panel, input, 0, rows, {y.data + panel * kPanelWidth, y.stride}, panel + member.size());
  });
}

/// Applies biases, q/k norm and RoPE, and writes k and v to their pages.
template <class T>
void CpuDecoder<T>::store_heads(Member& member, const AttentionBlock& block) {
  const KvPages<T> pages = kv_pages(block);
  const Rows qkv = tensor_rows(qkv_);
  CpuHeads rows(block.rotary, angles_);
  rows.heads = block.heads;
  rows.kv_heads = block.kv_heads;
  rows.head_dim = block.head_dim;
  rows.bias = data_or_null(block.qkv_bias);
  rows.q_norm = data_or_null(block.q_norm);
  rows.k_norm = data_or_null(block.k_norm);
  rows.norms_together = block.norms_together;
  rows.norms_after_rope = block.norms_after_rope;
  rows.scale = block.scale;
  rows.eps = eps_;
  for_rows(member, std::ssize(rows_), [&](int64_t i) {
    float *const k = qkv[i] + block.heads * block.head_dim, *const v = k + block.kv_heads * block.head_dim;
    rows.finish(qkv[i], rows_[i].position);
    store_token(pages, rows_[i].pages, rows_[i].position, k, v);
  });
}

template <class T>
void CpuDecoder<T>::attend(Member& member, const AttentionBlock& block) {
  const KvPages<T> pages = kv_pages(block);
  const int64_t head_dim = block.head_dim, kv_heads = block.kv_heads, group = block.heads / kv_heads;
  const Rows qkv = tensor_rows(qkv_);
  const Inputs mixed = tensor_rows<T>(mixed_);
  const float* const sinks = data_or_null(block.sinks);
  member.share(std::ssize(runs_) * kv_heads, [&](int64_t task) {
    static thread_local AttentionScratch<T> scratch;
    static thread_local std::vector<PagedQuery<T>> queries;
    const auto [first, count] = runs_[task / kv_heads];
    const int64_t kv_head = task % kv_heads;
    queries.clear();
    for (int64_t i = first; i < first + count; ++i)
      for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
        queries.push_back({.q = qkv[i] + head * head_dim,
                           .out = mixed[i] + head * head_dim,
                           .length = rows_[i].position + 1,
                           .first = block.window > 0 ? std::max<int64_t>(0, rows_[i].position + 1 - block.window) : 0,
                           .sink = sinks ? sinks[head] : PagedQuery<T>{}.sink});
    attend_pages<T>(pages, rows_[first].pages, kv_head, queries, scratch, block.cap);
    if (block.is_gated) apply_output_gate(block, {first, count}, kv_head);
  });
}

/// Multiplies the attention output of the heads of a key/value head by the sigmoid of their gate.
template <class T>
void CpuDecoder<T>::apply_output_gate(const AttentionBlock& block, Run run, int64_t kv_head) {
  const int64_t width = block.heads / block.kv_heads * block.head_dim, begin = kv_head * width;
  const int64_t gate = block.qkv_width() + begin;
  const float* const bias = data_or_null(block.qkv_bias);
  for (int64_t i = run.first; i < run.first + run.count; ++i)
    sigmoid_gate_row(tensor_rows(qkv_)[i] + gate, bias ? bias + gate : nullptr, tensor_rows<T>(mixed_)[i] + begin,
                     width);
}

template <class T>
void CpuDecoder<T>::gate(Member& member, const GatedBlock& block) {
  const GatePart part = {.gate = block.gate,
                         .up = block.up,
                         .gate_bias = data_or_null(block.gate_bias),
                         .up_bias = data_or_null(block.up_bias),
                         .inner = block.inner,
                         .activation = block.activation};
  const Inputs gated = tensor_rows<T>(gated_);
  const Operand input = operand(member, block.gate, tensor_rows<T>(input_), std::ssize(rows_));
  member.share(block.gate.num_panels(), [&](int64_t panel) {
    gate_panel(part, panel, panel + member.size(), input, gated, 0, std::ssize(rows_));
  });
}

template <class T>
void CpuDecoder<T>::gate_panel(const GatePart& part, int64_t panel, int64_t next, const Operand& input, Inputs gated,
                               int64_t begin, int64_t end) const {
  static thread_local std::vector<float> scratch;
  scratch.resize(static_cast<size_t>(2 * kGatedRows * kPanelWidth));
  float *const gates = scratch.data(), *const ups = gates + kGatedRows * kPanelWidth;
  const int64_t column = panel * kPanelWidth, width = std::min(kPanelWidth, part.inner - column);
  const float* const gate_bias = part.gate_bias ? part.gate_bias + column : nullptr;
  const float* const up_bias = part.up_bias ? part.up_bias + column : nullptr;
  for (int64_t first = begin; first < end; first += kGatedRows) {
    const int64_t count = std::min(kGatedRows, end - first);
    multiply_panel(part.gate, panel, input, first, count, {gates, kPanelWidth}, next);
    multiply_panel(part.up, panel, input, first, count, {ups, kPanelWidth}, next);
    for (int64_t i = 0; i < count; ++i) {
      const float *const g = gates + i * kPanelWidth, *const u = ups + i * kPanelWidth;
      T* const out = gated[first + i] + column;
      if (part.activation == Activation::kGeluTanh)
        gelu_gate_row(g, u, gate_bias, up_bias, out, width);
      else if (part.activation == Activation::kClampedSwiglu)
        clamped_gate_row(g, u, gate_bias, up_bias, out, width);
      else
        gate_row(g, u, gate_bias, up_bias, out, width);
    }
  }
}

template <class T>
void CpuDecoder<T>::sum_over_ranks(Member& member, const at::Tensor& y) {
  if (backbone_.parallel().tp_size() == 1) return;
  member.once([&] {
    const at::Tensor real = y.narrow(0, 0, std::ssize(rows_)).narrow(1, 0, hidden_);
    at::Tensor sum = real.contiguous();
    backbone_.parallel().tp->all_reduce_sum(sum, "activations");
    if (!sum.is_alias_of(real)) real.copy_(sum);
  });
}

template <class T>
void CpuDecoder<T>::compute_logits(Member& member) {
  const int64_t count = std::ssize(logit_rows_);
  const float* const norm = final_norm_.const_data_ptr<float>();
  const Rows x = tensor_rows(x_), branch = tensor_rows(branch_);
  const Inputs input = tensor_rows<T>(input_);
  for_rows(member, count, [&](int64_t i) {
    add_branch(blocks_.back(), x[logit_rows_[i]], branch[logit_rows_[i]]);
    norm_row(x[logit_rows_[i]], norm, input[i], hidden_, eps_);
  });
  multiply(member, lm_head_, input, count, tensor_rows(logits_));
  if (const auto cap = static_cast<float>(model_.spec().logit_cap); cap > 0)
    for_rows(member, count, [&, logits = tensor_rows(logits_)](int64_t i) {
      for (int64_t v = 0; v < logits.stride; ++v) logits[i][v] = cap * std::tanh(logits[i][v] / cap);
    });
  if (model_.parts().is_whole()) return;
  member.once([&] {
    const at::Tensor local = logits_.narrow(0, 0, count).narrow(1, 0, model_.head_weight().size(0));
    gathered_ = model_.gather_vocabulary(local).contiguous();
  });
}

template <class T>
KvPages<T> CpuDecoder<T>::kv_pages(const AttentionBlock& block) const {
  return {.keys = block.keys.template mutable_data_ptr<T>(),
          .values = block.values.template mutable_data_ptr<T>(),
          .page_size = sizes_.page_size,
          .kv_heads = block.kv_heads,
          .head_dim = block.head_dim};
}

template class CpuDecoder<float>;
template class CpuDecoder<c10::BFloat16>;

}  // namespace roll
