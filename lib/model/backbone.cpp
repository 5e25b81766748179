// One layer's arithmetic stands once (run_layer); training, prefill and decoding differ in how heads attend and in what
// tensor ranks exchange around products.
#include "model/backbone.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <functional>
#include <span>

#include "base/error.h"
#include "dist/parallel_ops.h"
#include "model/parameter_parts.h"
#include "model/rotary.h"
#include "model/weights.h"
#include "ops/accumulating_linear.h"
#include "ops/attention.h"
#include "ops/layer_ops.h"
#include "ops/recompute.h"

namespace roll {

namespace {

/// q, k, v -> what the heads read, [T, H, D]; the only thing in which training, prefill and decoding differ.
using Attend = std::function<at::Tensor(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v)>;

/// A token's row of the table is its position.
Rotation position_rotation(const at::Tensor& inverse_frequencies, const at::Tensor& positions, int64_t num_positions) {
  return make_rotation(inverse_frequencies, at::arange(num_positions, positions.options()), positions);
}

at::Tensor apply(const Linear& linear, const at::Tensor& x) {
  return accumulating_linear(x, linear.weight, linear.bias);
}

/// The product whose input dimension is cut over ranks; its bias is added once, to the sum.
at::Tensor apply_columns(const Linear& linear, const at::Tensor& x, const ParallelFlow& flow) {
  const at::Tensor sum = flow.leave(accumulating_linear(x, linear.weight));
  return linear.bias.defined() ? sum + linear.bias : sum;
}

at::Tensor attention_branch(const ModelSpec& spec, const LayerWeights& layer, const at::Tensor& x,
                            const Rotation& rotation, const Attend& attend, const ParallelFlow& flow) {
  const auto heads = [&](const Linear& projection) {
    return apply(projection, x).view({x.size(0), -1, spec.head_dim});
  };
  const auto turned = [&](const at::Tensor& raw, const at::Tensor& norm) {
    const at::Tensor normed = norm.defined() ? rms_norm(raw, norm, spec.rms_norm_eps) : raw;
    return rotate(normed, rotation);
  };
  const at::Tensor mixed =
      attend(turned(heads(layer.q), layer.q_norm), turned(heads(layer.k), layer.k_norm), heads(layer.v));
  return apply_columns(layer.o, mixed.reshape({x.size(0), -1}), flow);
}

at::Tensor run_layer(const ModelSpec& spec, const LayerWeights& layer, const at::Tensor& x, const Rotation& rotation,
                     const Attend& attend, const ParallelFlow& flow) {
  const auto entered = [&](const at::Tensor& in, const at::Tensor& norm) {
    return flow.enter(rms_norm(in, norm, spec.rms_norm_eps));
  };
  const at::Tensor attended = x + attention_branch(spec, layer, entered(x, layer.input_norm), rotation, attend, flow);
  const at::Tensor normed = entered(attended, layer.post_norm);
  return attended + apply_columns(layer.down, swiglu(apply(layer.gate, normed), apply(layer.up, normed)), flow);
}

double attention_scale(const ModelSpec& spec) {
  return 1.0 / std::sqrt(static_cast<double>(spec.head_dim));
}

/// Whether all are trained alike. Without data, one of them then stands for all.
bool are_alike(const std::vector<LayerWeights>& layers) {
  const auto trained = [](const LayerWeights& layer) {
    std::vector<bool> flags;
    for (const at::Tensor& tensor : layer.all()) flags.push_back(tensor.requires_grad());
    return flags;
  };
  return std::ranges::all_of(layers, [&](const auto& layer) { return trained(layer) == trained(layers.back()); });
}

at::Tensor count_times(at::Tensor x, const ModelParallel& parallel, int64_t times, int64_t times_in_backward) {
  if (!x.is_meta()) return x;
  if (at::GradMode::is_enabled() && !x.requires_grad()) x = x.detach().requires_grad_(true);  // so that it is undone
  for (Communicator* ranks : {parallel.tp, parallel.cp})
    if (ranks) x = roll::count_times(x, *ranks, times, times_in_backward);
  return x;
}

/// Optional tensors of the spec stay undefined.
class LayerReader {
 public:
  LayerReader(const NamedTensors& parameters, std::string prefix)
      : parameters_(parameters), prefix_(std::move(prefix)) {}
  at::Tensor norm(const std::string& name, bool exists = true) const { return tensor(name + ".weight", exists); }
  Linear linear(const std::string& name, bool bias) const {
    return {tensor(name + ".weight", true), tensor(name + ".bias", bias)};
  }

 private:
  at::Tensor tensor(const std::string& name, bool exists) const {
    return exists ? parameter(parameters_, prefix_ + name) : at::Tensor();
  }

  const NamedTensors& parameters_;
  std::string prefix_;
};

LayerWeights read_layer(const ModelSpec& spec, const LayerReader& reader) {
  const WeightNames& names = spec.architecture->weights;
  return {.input_norm = reader.norm(names.input_norm),
          .post_norm = reader.norm(names.post_norm),
          .q = reader.linear(names.q, spec.qkv_bias),
          .k = reader.linear(names.k, spec.qkv_bias),
          .v = reader.linear(names.v, spec.qkv_bias),
          .o = reader.linear(names.o, spec.o_bias),
          .q_norm = reader.norm(names.q_norm, spec.qk_norm),
          .k_norm = reader.norm(names.k_norm, spec.qk_norm),
          .gate = reader.linear(names.gate, spec.mlp_bias),
          .up = reader.linear(names.up, spec.mlp_bias),
          .down = reader.linear(names.down, spec.mlp_bias)};
}

}  // namespace

std::vector<at::Tensor> LayerWeights::all() const {
  std::vector<at::Tensor> defined;
  for (const at::Tensor& tensor :
       {input_norm, post_norm, q.weight, q.bias, k.weight, k.bias, v.weight, v.bias, o.weight, o.bias, q_norm, k_norm,
        gate.weight, gate.bias, up.weight, up.bias, down.weight, down.bias})
    if (tensor.defined()) defined.push_back(tensor);
  return defined;
}

Backbone::Backbone(const ModelSpec& spec, const NamedTensors& parameters, const ModelParallel& parallel)
    : spec_(spec),
      parallel_(parallel),
      embedding_(parameter(parameters, spec.architecture->weights.embedding + ".weight")),
      final_norm_(parameter(parameters, spec.architecture->weights.final_norm + ".weight")),
      inverse_frequencies_(inverse_frequencies(spec).to(embedding_.device())) {
  for (int64_t i = 0; i < spec.num_layers; ++i)
    layers_.push_back(read_layer(spec, {parameters, fmt::format("{}{}.", spec.architecture->weights.layer, i)}));
}

ModelSpec Backbone::cache_spec() const {
  ModelSpec local = spec_;
  local.num_kv_heads = std::max<int64_t>(1, spec_.num_kv_heads / parallel_.tp_size());
  return local;
}

ParallelFlow Backbone::training_flow() const {
  Communicator* tp = parallel_.tp;
  if (parallel_.tp_size() == 1) return {std::identity(), std::identity()};
  return {[tp](const at::Tensor& x) { return gather_rows(x, *tp, "activations"); },
          [tp](const at::Tensor& sum) { return sum_scatter_rows(sum, *tp, "activations"); }};
}

ParallelFlow Backbone::sampling_flow() const {
  Communicator* tp = parallel_.tp;
  if (parallel_.tp_size() == 1) return {std::identity(), std::identity()};
  return {std::identity(), [tp](at::Tensor sum) {
            tp->all_reduce_sum(sum, "activations");
            return sum;
          }};
}

at::Tensor Backbone::embed(const at::Tensor& ids, const ParallelFlow& flow) const {
  if (parallel_.tp_size() == 1) return embed_rows(embedding_, ids);
  const TensorPart rows = vocabulary_part(spec_, parallel_.tp_rank(), parallel_.tp_size());
  const at::Tensor local = ids - rows.begin;
  const at::Tensor elsewhere = local.lt(0).logical_or_(local.ge(rows.end - rows.begin));
  const at::Tensor found = embed_rows(embedding_, local.masked_fill(elsewhere, 0));
  return flow.leave(found.masked_fill(elsewhere.unsqueeze(1), 0));
}

at::Tensor Backbone::forward(const TokenLayout& layout, bool recompute) const {
  const Rotation rotation = position_rotation(inverse_frequencies_, layout.positions, layout.num_positions);
  const Attend attend = [layout, cp = parallel_.cp, scale = attention_scale(spec_)](
                            const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
    if (!layout.keys.defined()) return packed_attention(q, k, v, layout.cu_queries, layout.cu_keys, scale);
    const at::Tensor gathered = gather_rows(at::stack({k, v}, 1), *cp, "keys and values");
    const at::Tensor all = select_rows(gathered, layout.keys);
    return packed_attention(q, all.select(1, 0), all.select(1, 1), layout.cu_queries, layout.cu_keys, scale);
  };
  const ParallelFlow flow = training_flow();
  at::Tensor x = embed(layout.ids, flow);
  const int64_t alike = x.is_meta() && are_alike(layers_) ? std::ssize(layers_) : 1;
  x = count_times(x, parallel_, alike, 1);
  for (const LayerWeights& layer : std::span(layers_).subspan(alike - 1)) {
    const auto block = [spec = spec_, layer, rotation, attend, flow](const at::Tensor& input) {
      return run_layer(spec, layer, input, rotation, attend, flow);
    };
    x = recompute ? recomputed(block, x, layer.all()) : block(x);
  }
  x = count_times(x, parallel_, 1, alike);
  return rms_norm(x, final_norm_, spec_.rms_norm_eps);
}

at::Tensor Backbone::extend(const CachedTokens& tokens, const KvRows& cache) const {
  const at::NoGradGuard no_grad;
  const Rotation rotation = position_rotation(inverse_frequencies_, tokens.positions, tokens.num_positions);
  const ParallelFlow flow = sampling_flow();
  at::Tensor x = embed(tokens.ids, flow);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Attend attend = [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
      at::Tensor keys = cache.keys[i], values = cache.values[i];
      keys.index_copy_(0, tokens.rows, k.contiguous());
      values.index_copy_(0, tokens.rows, v.contiguous());
      return packed_attention(q, keys.index_select(0, tokens.seen), values.index_select(0, tokens.seen),
                              tokens.cu_queries, tokens.cu_keys, attention_scale(spec_));
    };
    x = run_layer(spec_, layers_[i], x, rotation, attend, flow);
  }
  return rms_norm(x, final_norm_, spec_.rms_norm_eps);
}

}  // namespace roll
