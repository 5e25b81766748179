// Training and prefill or decoding differ in how heads attend and in what tensor ranks exchange around products; the
// layers' arithmetic is in mixers.cpp.
#include "model/backbone.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numbers>
#include <span>

#include "base/error.h"
#include "dist/parallel_ops.h"
#include "model/mixers.h"
#include "model/parameter_shards.h"
#include "model/weights.h"
#include "ops/attention.h"
#include "ops/fused_layer.h"
#include "ops/layer_ops.h"
#include "ops/recompute.h"

namespace roll {

namespace {

/// Whether all have the same weights and are trained alike. Without data, one of them then stands for all.
bool are_alike(const std::vector<LayerWeights>& layers) {
  const auto same = [](const at::Tensor& a, const at::Tensor& b) {
    return a.sizes() == b.sizes() && a.requires_grad() == b.requires_grad();
  };
  return std::ranges::all_of(
      layers, [&](const auto& layer) { return std::ranges::equal(layer.all(), layers.back().all(), same); });
}

at::Tensor count_times(at::Tensor x, const ModelParallel& parallel, int64_t times, int64_t times_in_backward) {
  if (!x.is_meta()) return x;
  if (at::GradMode::is_enabled() && !x.requires_grad()) x = x.detach().requires_grad_(true);  // so that it is undone
  for (Communicator* ranks : {parallel.tp, parallel.cp})
    if (ranks) x = roll::count_times(x, *ranks, times, times_in_backward);
  return x;
}

/// Long waves are slowed by `factor`, short ones kept, those between blended (Llama 3.1, "llama3" in transformers).
at::Tensor scale_llama3(const at::Tensor& frequencies, const Llama3Scaling& scaling) {
  const auto context = static_cast<double>(scaling.original_max_positions);
  const at::Tensor wavelength = 2 * std::numbers::pi / frequencies;
  const at::Tensor slowed = frequencies / scaling.factor;
  const at::Tensor blend =
      (context / wavelength - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  const at::Tensor blended = (1 - blend) * slowed + blend * frequencies;
  const at::Tensor long_or_short = at::where(wavelength > context / scaling.low_freq_factor, slowed, frequencies);
  const at::Tensor is_medium =
      (wavelength >= context / scaling.high_freq_factor).logical_and(wavelength <= context / scaling.low_freq_factor);
  return at::where(is_medium, blended, long_or_short);
}

}  // namespace

LayerWeights::LayerWeights(const Layer& layer, const std::string& prefix, const ParameterIndex& parameters,
                           Communicator* tp, Communicator* ep)
    : layer_(layer) {
  const auto tensor = [&](std::string_view part, const char* end) {
    return parameters[prefix + std::string(part) + end];
  };
  for_each_part(layer_, [&](const auto& part) {
    if constexpr (requires { part.expert; })
      if (ep && part.expert && part.expert->owner(ep->size()) != ep->rank()) {
        parts_.emplace_back(part.name, Linear());
        return;
      }
    Linear& linear = parts_.emplace_back(part.name, Linear{tensor(part.name, ".weight"), {}}).second;
    if constexpr (requires { part.has_bias; }) {
      linear.dtype = tensor(layer_.front().norm.name, ".weight").scalar_type();
      if (part.quantised)
        linear.quantised = QuantisedMatrix{*part.quantised, linear.weight, tensor(part.name, ".weight.scales")};
      if (part.has_bias) linear.bias = tensor(part.name, ".bias");
      if (part.adapter.rank == 0) return;
      linear.adapter = Adapter{.a = tensor(part.name, kLoraA),
                               .b = tensor(part.name, kLoraB),
                               .magnitude = part.adapter.has_magnitude ? tensor(part.name, kMagnitude) : at::Tensor(),
                               .scale = part.adapter.scale,
                               .columns = part.cut.dim == 1 ? tp : nullptr};
    }
  });
}

const std::pair<std::string_view, Linear>* LayerWeights::from(const LinearShape& first) const {
  const auto found = std::ranges::find(parts_, first.name, &std::pair<std::string_view, Linear>::first);
  ROLL_CHECK(found != parts_.end(), fmt::format("{} is a part of the layer", first.name));
  return &*found;
}

const Linear& LayerWeights::find(std::string_view name) const {
  return from(LinearShape{.name = name})->second;
}

std::vector<at::Tensor> LayerWeights::all() const {
  std::vector<at::Tensor> defined;
  for (const auto& [name, linear] : parts_) {
    const Adapter adapter = linear.adapter.value_or(Adapter());
    for (const at::Tensor& tensor : {linear.weight, linear.bias, adapter.a, adapter.b, adapter.magnitude})
      if (tensor.defined() && tensor.is_floating_point()) defined.push_back(tensor);
  }
  return defined;
}

Backbone::Backbone(const ModelSpec& spec, const NamedTensors& parameters, const ModelParallel& parallel)
    : spec_(spec),
      parallel_(parallel),
      embedding_(trained_copy(parameters, spec.architecture->weights.embedding)),
      final_norm_(parameter(parameters, spec.architecture->weights.final_norm + ".weight")),
      inverse_frequencies_(inverse_frequencies(spec).to(embedding_.device())),
      launcher_(make_layer_launcher(embedding_.device())) {
  const ParameterIndex all(parameters);
  for (const Layer& layer : spec.layers())
    layers_.emplace_back(layer, layer_prefix(spec, layers_.size()), all, parallel.tp, parallel.ep);
}

/// A token's row of the table is its position.
Rotation Backbone::rotation(const at::Tensor& positions, int64_t num_positions) const {
  return make_rotation(inverse_frequencies_, at::arange(num_positions, positions.options()), positions);
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
  const auto rows_of = [&](const at::Tensor& wanted) {
    const bool is_fused = launcher_ && takes_layer(embedding_, {embedding_.size(1)}, {embedding_});
    return (is_fused ? fused_rows(*launcher_, embedding_, wanted) : embed_rows(embedding_, wanted)).to(dtype());
  };
  if (parallel_.tp_size() == 1) return rows_of(ids);
  const TensorShard rows = vocabulary_shard(spec_, parallel_.tp_rank(), parallel_.tp_size());
  const at::Tensor local = ids - rows.begin;
  const at::Tensor elsewhere = local.lt(0).logical_or_(local.ge(rows.end - rows.begin));
  const at::Tensor found = rows_of(local.masked_fill(elsewhere, 0));
  return flow.leave(found.masked_fill(elsewhere.unsqueeze(1), 0));
}

at::Tensor Backbone::forward(const TokenLayout& layout, bool recompute) const {
  Pieces pieces = layout.bounds.defined() ? Pieces{layout.cu_queries, layout.cu_keys, layout.bounds, layout.bounds}
                                          : pieces_on(layout.ids.device(), layout.cu_queries, layout.cu_keys);
  pieces.key_rows = layout.keys;
  const Attend attend = [pieces, cp = parallel_.cp](const Attention& attention, const at::Tensor& q,
                                                    const at::Tensor& k, const at::Tensor& v) {
    const double scale = attention.scale();
    if (!cp) return packed_attention(q, k, v, pieces, scale);
    const at::Tensor all = gather_rows(at::stack({k, v}, 1), *cp, "keys and values");
    return packed_attention(q, all.select(1, 0), all.select(1, 1), pieces, scale);
  };
  const auto pass = std::make_shared<const LayerPass>(LayerPass{
      .eps = spec_.rms_norm_eps,
      .rotation = rotation(layout.positions, layout.num_positions),
      .attend = attend,
      .flow = training_flow(),
      .launcher = launcher_.get(),
      .experts = parallel_.ep,
      .routers = layout.routers,
  });
  at::Tensor x = embed(layout.ids, pass->flow);
  const int64_t alike = x.is_meta() && are_alike(layers_) ? std::ssize(layers_) : 1;
  x = count_times(x, parallel_, alike, 1);
  for (const LayerWeights& layer : std::span(layers_).subspan(alike - 1)) {
    const auto block = [layer, pass](const at::Tensor& input) { return run_layer(layer, input, *pass); };
    x = recompute ? recomputed(block, x, layer.all()) : block(x);
  }
  return last_norm(count_times(x, parallel_, 1, alike));
}

at::Tensor Backbone::last_norm(const at::Tensor& x) const {
  const bool is_fused = launcher_ && takes_layer(x, {x.size(1)}, {final_norm_});
  return is_fused ? fused_norm(*launcher_, x, {}, final_norm_, spec_.rms_norm_eps).normed
                  : rms_norm(x, final_norm_, spec_.rms_norm_eps);
}

at::Tensor Backbone::extend(const CachedTokens& tokens, const KvRows& cache) const {
  const at::NoGradGuard no_grad;
  const Pieces pieces = pieces_on(tokens.ids.device(), tokens.cu_queries, tokens.cu_keys);
  size_t cached = 0;  // attention that has been computed
  const Attend attend = [&](const Attention& attention, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
    const auto rows_in = [&](const at::Tensor& rows) { return rows.view({rows.size(0), -1, k.size(2)}); };
    at::Tensor keys = rows_in(cache.keys[cached]), values = rows_in(cache.values[cached]);
    ++cached;
    keys.index_copy_(0, tokens.rows, k.contiguous());
    values.index_copy_(0, tokens.rows, v.contiguous());
    return packed_attention(q, keys.index_select(0, tokens.seen), values.index_select(0, tokens.seen), pieces,
                            attention.scale());
  };
  const LayerPass pass = {.eps = spec_.rms_norm_eps,
                          .rotation = rotation(tokens.positions, tokens.num_positions),
                          .attend = attend,
                          .flow = sampling_flow(),
                          .launcher = launcher_.get()};
  at::Tensor x = embed(tokens.ids, pass.flow);
  for (const LayerWeights& layer : layers_) x = run_layer(layer, x, pass);
  return last_norm(x);
}

NamedTensors merged_parameters(const Backbone& backbone, const NamedTensors& parameters,
                               const std::vector<ParameterShape>& plain) {
  std::map<std::string, at::Tensor> of_layers;
  for (size_t i = 0; i < backbone.layers().size(); ++i)
    for_each_part(backbone.layers()[i].layer(), [&, prefix = layer_prefix(backbone.spec(), i)](const auto& part) {
      if constexpr (requires { part.adapter; })
        of_layers[prefix + std::string(part.name) + ".weight"] = merged_weight(backbone.layers()[i][part]);
    });
  NamedTensors merged;
  for (const ParameterShape& shape : plain) {
    const auto found = of_layers.find(shape.name);
    const std::string module = shape.name.substr(0, shape.name.rfind('.'));
    const bool is_weight = shape.name.ends_with(".weight");
    const at::Tensor own = found != of_layers.end() ? found->second
                           : is_weight              ? trained_copy(parameters, module)
                                                    : parameter(parameters, shape.name);
    merged.emplace_back(shape.name, own.detach().to(backbone.dtype()));
  }
  return merged;
}

at::Tensor inverse_frequencies(const ModelSpec& spec) {
  const at::Tensor exponents = at::arange(0, spec.head_dim, 2, at::kFloat) / static_cast<double>(spec.head_dim);
  const at::Tensor frequencies = at::reciprocal(at::pow(spec.rope_theta, exponents));
  return spec.rope_scaling ? scale_llama3(frequencies, *spec.rope_scaling) : frequencies;
}

}  // namespace roll
