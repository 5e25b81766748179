#include "model/cpu_decoder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/parameter_parts.h"
#include "model/rotary.h"
#include "ops/row_ops.h"

namespace roll {

namespace {

constexpr int64_t kQueriesAtOnce = 8;  // of one sequence: they meet a strip of keys while it is in cache
constexpr int64_t kRowsPerTask = 4;    // of the work between products
constexpr int64_t kGatedRows = 128;    // whose gate and up wait in a thread's memory for each other

at::Tensor as_float(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().to(at::kFloat).contiguous() : tensor;
}

const float* data_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr;
}

/// f(i) for each row.
template <class F>
void for_rows(ThreadTeam::Member& member, int64_t count, const F& f) {
  member.share((count + kRowsPerTask - 1) / kRowsPerTask, [&](int64_t task) {
    for (int64_t i = task * kRowsPerTask; i < std::min(count, (task + 1) * kRowsPerTask); ++i) f(i);
  });
}

PackedWeight packed_for(const at::Tensor& weight, StreamedMemory& memory) {
  return {weight.size(0), weight.size(1), weight.scalar_type(), memory};
}

int64_t room_of(const at::Tensor& weight) {
  return PackedWeight::room_for(weight.size(0), weight.size(1), weight.scalar_type());
}

}  // namespace

bool has_cpu_decoder(const Transformer& model) {
  return model.device().is_cpu() && (model.dtype() == at::kFloat || model.dtype() == at::kBFloat16);
}

template <class T>
CpuDecoder<T>::CpuDecoder(const Transformer& model, const DecoderSizes& sizes)
    : model_(model), backbone_(model.backbone()), sizes_(sizes) {
  ROLL_CHECK(model.device().is_cpu() && model.dtype() == kDtype, "a model of this decoder's numbers, on the CPU");
  const ModelSpec local = backbone_.cache_spec();
  hidden_ = local.hidden_size, eps_ = static_cast<float>(local.rms_norm_eps);
  kv_heads_ = local.num_kv_heads, head_dim_ = local.head_dim;
  const LayerWeights& first = backbone_.layers().front();
  heads_ = first.q.weight.size(0) / head_dim_, inner_ = first.gate.weight.size(0);
  make_memory();
  const at::Tensor angles = at::outer(at::arange(sizes.max_length, at::kFloat), inverse_frequencies(model.spec()));
  cos_ = angles.cos(), sin_ = angles.sin();
  make_buffers();
  pack_weights();
}

template <class T>
void CpuDecoder<T>::make_memory() {
  const LayerWeights& first = backbone_.layers().front();
  const int64_t qkv = (heads_ + 2 * kv_heads_) * head_dim_, hidden = first.q.weight.size(1);
  const int64_t page = kv_heads_ * sizes_.page_size * head_dim_;
  const int64_t pages = StreamedMemory::room_for(sizes_.num_pages * page * static_cast<int64_t>(sizeof(T)));
  int64_t layer_bytes = PackedWeight::room_for(qkv, hidden, kDtype) + 2 * pages;
  for (const Linear* linear : {&first.o, &first.gate, &first.up, &first.down}) layer_bytes += room_of(linear->weight);
  StreamedMemory memory(layer_bytes * std::ssize(backbone_.layers()) + room_of(model_.head_weight()));
  for (const LayerWeights& weights : backbone_.layers())
    layers_.push_back({.qkv = PackedWeight(qkv, hidden, kDtype, memory),
                       .o = packed_for(weights.o.weight, memory),
                       .gate = packed_for(weights.gate.weight, memory),
                       .up = packed_for(weights.up.weight, memory),
                       .down = packed_for(weights.down.weight, memory),
                       .keys = memory.take({sizes_.num_pages, page}, kDtype),
                       .values = memory.take({sizes_.num_pages, page}, kDtype)});
  lm_head_ = packed_for(model_.head_weight(), memory);
}

template <class T>
void CpuDecoder<T>::make_buffers() {
  const Layer& layer = layers_.front();
  const auto rows_of = [&](int64_t width, at::ScalarType dtype = at::kFloat) {
    return at::empty({sizes_.max_rows, width}, dtype);
  };
  x_ = rows_of(model_.spec().hidden_size), qkv_ = rows_of(layer.qkv.padded_outputs());
  branch_ = rows_of(std::max(layer.o.padded_outputs(), layer.down.padded_outputs()));
  input_ = rows_of(model_.spec().hidden_size, kDtype), mixed_ = rows_of(heads_ * head_dim_, kDtype);
  gated_ = rows_of(layer.gate.padded_outputs(), kDtype);
}

template <class T>
void CpuDecoder<T>::pack_weights() {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < layers_.size(); ++i) pack_layer(layers_[i], backbone_.layers()[i]);
  lm_head_.fill(0, model_.head_weight());
  final_norm_ = as_float(backbone_.final_norm());
}

template <class T>
void CpuDecoder<T>::pack_layer(Layer& layer, const LayerWeights& weights) {
  layer.qkv.fill(0, weights.q.weight);
  layer.qkv.fill(heads_ * head_dim_, weights.k.weight);
  layer.qkv.fill((heads_ + kv_heads_) * head_dim_, weights.v.weight);
  layer.o.fill(0, weights.o.weight);
  layer.gate.fill(0, weights.gate.weight), layer.up.fill(0, weights.up.weight);
  layer.down.fill(0, weights.down.weight);
  layer.input_norm = as_float(weights.input_norm), layer.post_norm = as_float(weights.post_norm);
  layer.q_norm = as_float(weights.q_norm), layer.k_norm = as_float(weights.k_norm);
  if (weights.q.bias.defined()) layer.qkv_bias = as_float(at::cat({weights.q.bias, weights.k.bias, weights.v.bias}));
  layer.o_bias = as_float(weights.o.bias), layer.down_bias = as_float(weights.down.bias);
  layer.gate_bias = as_float(weights.gate.bias), layer.up_bias = as_float(weights.up.bias);
}

template <class T>
void CpuDecoder<T>::copy_page(int64_t from, int64_t to) {
  for (const Layer& layer : layers_) {
    layer.keys[to].copy_(layer.keys[from]);
    layer.values[to].copy_(layer.values[from]);
  }
}

template <class T>
LogitRows CpuDecoder<T>::run(std::span<const DecoderRow> rows, std::span<const int64_t> wanted) {
  ROLL_CHECK(std::ssize(rows) <= sizes_.max_rows, "the rows fit the buffers");
  const at::NoGradGuard no_grad;
  rows_ = rows, wanted_ = wanted;
  runs_.clear();
  for (int64_t i = 0; i < std::ssize(rows); ++i) {
    const bool joins = !runs_.empty() && rows[i].pages == rows[i - 1].pages && runs_.back().count < kQueriesAtOnce;
    if (joins)
      ++runs_.back().count;
    else
      runs_.push_back({i, 1});
  }
  if (!logits_.defined() || logits_.size(0) < std::ssize(wanted))
    logits_ = at::empty({std::ssize(wanted), lm_head_.padded_outputs()}, at::kFloat);
  team_.run([&](Member& member) { run_rows(member); });
  const at::Tensor& all = gathered_.defined() ? gathered_ : logits_;
  return {all.const_data_ptr<float>(), all.stride(0)};
}

template <class T>
void CpuDecoder<T>::run_rows(Member& member) {
  embed(member);
  const at::Tensor* bias = nullptr;  // of the branch before
  for (const Layer& layer : layers_) {
    add_and_norm(member, bias, layer.input_norm);
    multiply(member, layer.qkv, rows_of<T>(input_), std::ssize(rows_), rows_of(qkv_));
    place(member, layer);
    attend(member, layer);
    multiply(member, layer.o, rows_of<T>(mixed_), std::ssize(rows_), rows_of(branch_));
    sum_over_ranks(member, branch_);
    add_and_norm(member, &layer.o_bias, layer.post_norm);
    gate(member, layer);
    multiply(member, layer.down, rows_of<T>(gated_), std::ssize(rows_), rows_of(branch_));
    sum_over_ranks(member, branch_);
    bias = &layer.down_bias;
  }
  compute_logits(member);
  PackedWeight::release();
}

template <class T>
void CpuDecoder<T>::embed(Member& member) {
  const auto* const embedding = backbone_.embedding().const_data_ptr<T>();
  const ModelParallel& parallel = backbone_.parallel();
  const TensorPart part = vocabulary_part(model_.spec(), parallel.tp_rank(), parallel.tp_size());
  const Rows x = rows_of(x_);
  for_rows(member, std::ssize(rows_), [&](int64_t i) {
    const int64_t token = rows_[i].token;
    if (token >= part.begin && token < part.end)
      widen_row(embedding + (token - part.begin) * hidden_, x[i], hidden_);
    else
      std::fill_n(x[i], hidden_, 0.0f);
  });
  sum_over_ranks(member, x_);
}

/// x += branch + bias, and the next product's input. `bias` null: nothing is to be added yet.
template <class T>
void CpuDecoder<T>::add_and_norm(Member& member, const at::Tensor* bias, const at::Tensor& norm) {
  const float *const added = bias ? data_or_null(*bias) : nullptr, *const weight = norm.const_data_ptr<float>();
  const Rows x = rows_of(x_), branch = rows_of(branch_);
  const Inputs input = rows_of<T>(input_);
  for_rows(member, std::ssize(rows_), [&](int64_t i) {
    if (bias) add_to_row(x[i], branch[i], added, hidden_);
    norm_row(x[i], weight, input[i], hidden_, eps_);
  });
}

template <class T>
void CpuDecoder<T>::multiply(Member& member, const PackedWeight& weight, Inputs x, int64_t rows, Rows y) {
  member.share(weight.num_panels(), [&](int64_t panel) {
    weight.multiply(panel, x.data, x.stride, rows, y.data + panel * kPanelWidth, y.stride, panel + member.size());
  });
}

/// Biases, norms and rotation of q and k; k and v go to their page.
template <class T>
void CpuDecoder<T>::place(Member& member, const Layer& layer) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim_));
  const KvPages<T> pages = pages_of(layer);
  const int64_t half = head_dim_ / 2, width = (heads_ + 2 * kv_heads_) * head_dim_;
  const Rows qkv = rows_of(qkv_);
  const float *const all_cos = cos_.const_data_ptr<float>(), *const all_sin = sin_.const_data_ptr<float>();
  const float *const bias = data_or_null(layer.qkv_bias), *const q_norm = data_or_null(layer.q_norm),
                     *const k_norm = data_or_null(layer.k_norm);
  for_rows(member, std::ssize(rows_), [&](int64_t i) {
    float *const q = qkv[i], *const k = q + heads_ * head_dim_, *const v = k + kv_heads_ * head_dim_;
    if (bias) add_to_row(q, bias, nullptr, width);
    const float *const cos = all_cos + rows_[i].position * half, *const sin = all_sin + rows_[i].position * half;
    for (float* head = q; head < v; head += head_dim_) {
      const float* const norm = head < k ? q_norm : k_norm;
      if (norm) norm_row(head, norm, head, head_dim_, eps_);
      turn_head(head, cos, sin, head_dim_);
    }
    for (float* x = q; x < k; ++x) *x *= scale;
    store_token(pages, rows_[i].pages, rows_[i].position, k, v);
  });
}

template <class T>
void CpuDecoder<T>::attend(Member& member, const Layer& layer) {
  const KvPages<T> pages = pages_of(layer);
  const int64_t group = heads_ / kv_heads_;
  const Rows qkv = rows_of(qkv_);
  const Inputs mixed = rows_of<T>(mixed_);
  member.share(std::ssize(runs_) * kv_heads_, [&](int64_t task) {
    static thread_local AttentionScratch<T> scratch;
    static thread_local std::vector<PagedQuery<T>> queries;
    const auto [first, count] = runs_[task / kv_heads_];
    const int64_t kv_head = task % kv_heads_;
    queries.clear();
    for (int64_t i = first; i < first + count; ++i)
      for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
        queries.push_back(
            {.q = qkv[i] + head * head_dim_, .out = mixed[i] + head * head_dim_, .length = rows_[i].position + 1});
    attend_pages<T>(pages, rows_[first].pages, kv_head, queries, scratch);
  });
}

/// gated = silu(input gate^T) * (input up^T), panel by panel of both.
template <class T>
void CpuDecoder<T>::gate(Member& member, const Layer& layer) {
  const int64_t num_rows = std::ssize(rows_);
  const float *const gate_bias = data_or_null(layer.gate_bias), *const up_bias = data_or_null(layer.up_bias);
  const Inputs input = rows_of<T>(input_), gated = rows_of<T>(gated_);
  member.share(layer.gate.num_panels(), [&](int64_t panel) {
    static thread_local std::vector<float> scratch;
    scratch.resize(static_cast<size_t>(2 * kGatedRows * kPanelWidth));
    float *const gates = scratch.data(), *const ups = gates + kGatedRows * kPanelWidth;
    const int64_t column = panel * kPanelWidth, width = std::min(kPanelWidth, inner_ - column);
    for (int64_t first = 0; first < num_rows; first += kGatedRows) {
      const int64_t count = std::min(kGatedRows, num_rows - first);
      layer.gate.multiply(panel, input[first], input.stride, count, gates, kPanelWidth, panel + member.size());
      layer.up.multiply(panel, input[first], input.stride, count, ups, kPanelWidth, panel + member.size());
      for (int64_t i = 0; i < count; ++i)
        gate_row(gates + i * kPanelWidth, ups + i * kPanelWidth, gate_bias ? gate_bias + column : nullptr,
                 up_bias ? up_bias + column : nullptr, gated[first + i] + column, width);
    }
  });
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
  const int64_t count = std::ssize(wanted_);
  const float *const bias = data_or_null(layers_.back().down_bias), *const norm = final_norm_.const_data_ptr<float>();
  const Rows x = rows_of(x_), branch = rows_of(branch_);
  const Inputs input = rows_of<T>(input_);
  for_rows(member, count, [&](int64_t i) {
    add_to_row(x[wanted_[i]], branch[wanted_[i]], bias, hidden_);
    norm_row(x[wanted_[i]], norm, input[i], hidden_, eps_);
  });
  multiply(member, lm_head_, input, count, rows_of(logits_));
  if (model_.parts().is_whole()) return;
  member.once([&] {
    const at::Tensor mine = logits_.narrow(0, 0, count).narrow(1, 0, model_.head_weight().size(0));
    gathered_ = model_.gather_vocabulary(mine).contiguous();
  });
}

template <class T>
KvPages<T> CpuDecoder<T>::pages_of(const Layer& layer) const {
  return {.keys = layer.keys.template mutable_data_ptr<T>(),
          .values = layer.values.template mutable_data_ptr<T>(),
          .page_size = sizes_.page_size,
          .kv_heads = kv_heads_,
          .head_dim = head_dim_};
}

template class CpuDecoder<float>;
template class CpuDecoder<c10::BFloat16>;

}  // namespace roll
