// Runs a model's layers: training and sampling differ in the attention call and in the collectives around products. The
// layers' arithmetic is in mixers.cpp.
#include "model/backbone.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "device/transfers.h"
#include "dist/parallel_ops.h"
#include "model/handover.h"
#include "model/mixers.h"
#include "model/mtp.h"
#include "model/parameter_shards.h"
#include "model/run_units.h"
#include "ops/accumulating_linear.h"
#include "ops/attention.h"
#include "ops/fused_layer.h"
#include "ops/layer_ops.h"
#include "pipeline/stage.h"

namespace roll {

namespace {

ScoreRule score_rule(const Attention& attention) {
  return {attention.scale(), attention.window, attention.soft_cap};
}

/// Gathers the rows of all context ranks.
DeltaRows gathered(const DeltaRows& rows, Communicator& cp) {
  const at::Tensor scalars = gather_rows(at::stack({rows.decay, rows.rate}, 1), cp, "decays and rates");
  return {.mixed = gather_rows(rows.mixed, cp, "delta net inputs"),
          .taps = rows.taps,
          .decay = scalars.select(1, 0),
          .rate = scalars.select(1, 1)};
}

/// Runs a delta net on new tokens; reads states from pages of the cache and writes them to pages.
at::Tensor advance_states(const DeltaHeads& heads, const DeltaRows& rows, const std::vector<StateRound>& rounds,
                          const DeltaStates& pages) {
  at::Tensor out = at::empty({rows.mixed.size(0), heads.value_heads, heads.value_dim}, rows.decay.options());
  for (const StateRound& round : rounds) {
    const auto read_states = [&](const at::Tensor& page_states) {
      const at::Tensor found = page_states.index_select(0, round.from);
      std::vector<int64_t> shape(static_cast<size_t>(found.dim()), 1);
      shape[0] = -1;
      return found.masked_fill(round.begins.view(shape), 0);
    };
    DeltaStates states{.heads = read_states(pages.heads), .tails = read_states(pages.tails)};
    const auto select_tokens = [&](const at::Tensor& x) { return x.index_select(0, round.tokens); };
    const DeltaRows selected = {.mixed = select_tokens(rows.mixed),
                                .taps = rows.taps,
                                .decay = select_tokens(rows.decay),
                                .rate = select_tokens(rows.rate)};
    out.index_copy_(0, round.tokens, gated_delta_rule(heads, selected, round.plan, &states));
    at::Tensor page_heads = pages.heads, page_tails = pages.tails;
    page_heads.index_copy_(0, round.to, states.heads);
    page_tails.index_copy_(0, round.to, states.tails.to(pages.tails.scalar_type()));
  }
  return out;
}

/// Returns the projection of layers' inputs, with its adapter.
Linear make_input_projection(const ModelSpec& spec, const ParameterIndex& all) {
  const LinearShape shape = input_projection(spec);
  const std::string name(shape.name);
  Linear linear{.weight = all[name + ".weight"], .bias = {}};
  if (shape.adapter.rank > 0)
    linear.adapter = Adapter{.a = all[name + kLoraA],
                             .b = all[name + kLoraB],
                             .magnitude = shape.adapter.has_magnitude ? all[name + kMagnitude] : at::Tensor(),
                             .scale = shape.adapter.scale,
                             .dropout = {.rate = shape.adapter.dropout,
                                         .product = static_cast<uint32_t>(spec.num_layers << 8)}};  // not a layer's
  return linear;
}

}  // namespace

Backbone::Backbone(const ModelSpec& spec, const NamedTensors& parameters, const ModelParallel& parallel)
    : spec_(spec), parallel_(parallel) {
  const PipelineStage* const stage = parallel.stage.get();
  const WeightNames& names = spec.architecture->weights;
  const auto is_embedding = [&](const auto& named) { return named.first == names.embedding + ".weight"; };
  if (!stage || std::ranges::any_of(parameters, is_embedding)) embedding_ = trained_copy(parameters, names.embedding);
  if (!stage || stage->is_last()) final_norm_ = parameter(parameters, names.final_norm + ".weight");
  const ParameterIndex all(parameters);
  if (spec.layer_inputs && (!stage || stage->is_first())) {
    input_table_ = all[names.input_table + ".weight"];
    input_projection_ = make_input_projection(spec, all);
    input_norm_ = all[names.input_projection_norm + ".weight"];
  }
  const std::vector<Layer> layers = spec.layers();
  for (size_t i = 0; i < layers.size(); ++i)
    if (!stage || stage->has(static_cast<int64_t>(i)))
      layers_.emplace_back(layers[i], i, layer_prefix(spec, i), all, parallel.tp, parallel.ep);
  if (spec.trains_mtp && (!stage || stage->is_last()))
    mtp_ = std::make_shared<const MtpWeights>(find_mtp(spec, all, parallel));
  for (int64_t i = 0; stage && i <= std::ssize(layers); ++i)
    handovers_.push_back(handover_before(layers, i, parallel.tp_size()));
  launcher_ = make_layer_launcher(device());
  for (const Rope& rope : spec.ropes()) inverse_frequencies_.push_back(inverse_frequencies(rope).to(device()));
}

const at::Tensor& Backbone::any_norm() const {
  return final_norm_.defined() ? final_norm_ : layers_.front().norm();
}

std::span<const LayerWeights> Backbone::entered_layers() const {
  const PipelineStage* const stage = parallel_.stage.get();
  if (!stage) return layers_;
  int64_t before = 0, size = 0;
  for (int64_t chunk = 0; chunk <= stage->chunk(); ++chunk) {
    const auto [first, last] = stage->split().chunk_layers(stage->index(), chunk);
    before += size;
    size = last - first;
  }
  return std::span(layers_).subspan(before, size);
}

/// Row p of the RoPE tables belongs to position p.
std::vector<HeadRotation> Backbone::head_rotations(const at::Tensor& positions, int64_t num_positions) const {
  const std::vector<Rope> ropes = spec_.ropes();
  std::vector<HeadRotation> all;
  for (size_t i = 0; i < ropes.size(); ++i) {
    HeadRotation head_rotation{make_rotation(inverse_frequencies_[i], at::arange(num_positions, positions.options()),
                                             positions, ropes[i].attention_factor)};
    head_rotation.rotation.interleaved = ropes[i].interleaved;
    if (ropes[i].query_growth != 0) head_rotation.query_scale = query_growth(ropes[i], positions).view({-1, 1, 1});
    all.push_back(std::move(head_rotation));
  }
  return all;
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
  return look_up(embedding_, spec_.vocab_size, spec_.embedding_scale, ids, flow);
}

at::Tensor Backbone::look_up(const at::Tensor& table, int64_t vocabulary, double scale, const at::Tensor& ids,
                             const ParallelFlow& flow) const {
  const auto table_rows = [&](const at::Tensor& row_ids) {
    const bool is_fused = launcher_ && takes_layer(table, {table.size(1)}, {table});
    const at::Tensor rows = is_fused ? fused_rows(*launcher_, table, row_ids) : embed_rows(table, row_ids);
    return scale == 1 ? rows.to(dtype()) : rows.to(dtype()) * rounded(scale);
  };
  if (parallel_.tp_size() == 1) return table_rows(ids);
  const TensorShard rows = make_tensor_shard({.dim = 0, .count = vocabulary}, parallel_.tp_rank(), parallel_.tp_size());
  const at::Tensor local = ids - rows.begin;
  const at::Tensor is_on_other_rank = local.lt(0).logical_or_(local.ge(rows.end - rows.begin));
  const at::Tensor found = table_rows(local.masked_fill(is_on_other_rank, 0));
  return flow.leave(found.masked_fill(is_on_other_rank.unsqueeze(1), 0));
}

Carried Backbone::carried(const at::Tensor& ids, const at::Tensor& x, const LayerPass& pass) const {
  if (!spec_.layer_inputs) return {};
  const auto [width, vocabulary] = *spec_.layer_inputs;
  const std::vector<int64_t> shape = {-1, spec_.num_layers, width};
  const at::Tensor looked_up = look_up(input_table_, vocabulary, std::sqrt(static_cast<double>(width)), ids, pass.flow);
  const at::Tensor projected =
      product(input_projection_, x, pass.local_dropout_keys(x)) / std::sqrt(static_cast<double>(spec_.hidden_size));
  return {.inputs = (rms_norm(projected.view(shape), input_norm_, spec_.rms_norm_eps) + looked_up.view(shape)) /
                    std::sqrt(2.0)};
}

/// A piece's states depend on all earlier tokens of its context, which other ranks or branches may hold.
std::function<at::Tensor(const DeltaHeads&, const DeltaRows&)> Backbone::recurrence(const TokenLayout& layout) const {
  const at::Device device = layout.ids.device();
  if (this->device().is_meta())  // a later stage has no embedding
    return [cp = parallel_.cp](const DeltaHeads& heads, const DeltaRows& rows) {
      const DeltaRows all = cp ? gathered(rows, *cp) : rows;
      const int64_t width = heads.value_heads * heads.value_dim;
      return rows.mixed.narrow(1, rows.mixed.size(1) - width, width).reshape({-1, heads.value_heads, heads.value_dim}) +
             (all.mixed.sum() + all.decay.sum() + all.rate.sum() + rows.taps.sum());
    };
  std::vector<int64_t> own_indices;  // own tokens' indices in the rows of all pieces
  for (size_t c = 0; layout.keys.defined() && c + 1 < layout.cu_keys.size(); ++c)
    for (int64_t i = layout.cu_queries[c + 1] - layout.cu_queries[c]; i > 0; --i)
      own_indices.push_back(layout.cu_keys[c + 1] - i);
  const at::Tensor own_rows =
      layout.keys.defined() ? copy_to_device(at::tensor(own_indices, at::kLong), device) : at::Tensor();
  return [plan = plan_delta(layout.cu_keys, spec_.delta->kernel, device), keys = layout.keys, own_rows,
          cp = parallel_.cp](const DeltaHeads& heads, const DeltaRows& rows) {
    if (!keys.defined()) return gated_delta_rule(heads, rows, plan);
    DeltaRows all = cp ? gathered(rows, *cp) : rows;
    for (at::Tensor* tensor : {&all.mixed, &all.decay, &all.rate}) *tensor = tensor->index_select(0, keys);
    return gated_delta_rule(heads, all, plan).index_select(0, own_rows);
  };
}

std::shared_ptr<const LayerPass> Backbone::training_pass(const TokenLayout& layout) const {
  Pieces pieces = layout.query_bounds.defined()
                      ? Pieces{layout.cu_queries, layout.cu_keys, layout.query_bounds, layout.key_bounds}
                      : pieces_on(layout.ids.device(), layout.cu_queries, layout.cu_keys);
  pieces.key_rows = layout.keys;
  const Attend attend = [pieces, cp = parallel_.cp](const Attention& attention, const at::Tensor& q,
                                                    const at::Tensor& k, const at::Tensor& v, const at::Tensor& sinks) {
    const ScoreRule rule = score_rule(attention);
    if (!cp) return packed_attention(q, k, v, pieces, rule, sinks);
    const at::Tensor all = gather_rows(at::stack({k, v}, 1), *cp, "keys and values");
    return packed_attention(q, all.select(1, 0), all.select(1, 1), pieces, rule, sinks);
  };
  return std::make_shared<const LayerPass>(LayerPass{
      .eps = spec_.rms_norm_eps,
      .head_rotations = head_rotations(layout.positions, layout.num_positions),
      .attend = attend,
      .recur = spec_.delta ? recurrence(layout) : Recur(),
      .flow = training_flow(),
      .tp = parallel_.tp,
      .launcher = launcher_.get(),
      .experts = parallel_.ep,
      .routers = layout.routers,
      .routed = {.replayed = layout.routed_experts, .recorded = {}},
      .dropout_keys = layout.dropout_keys,
      .store = store_.get(),
  });
}

at::Tensor Backbone::enter_chunk(const TokenLayout& layout, const LayerPass& pass, Carried& beside) const {
  PipelineStage* const stage = parallel_.stage.get();
  if (stage && !stage->is_begin())
    return take_over(*stage, handovers_[stage->chunk_layers().first],
                     {layout.num_slots(), parallel_.tp_size(), spec_.hidden_size},
                     at::TensorOptions().dtype(dtype()).device(device()), beside);
  const at::Tensor x = embed(layout.ids, pass.flow);
  beside = carried(layout.ids, x, pass);
  return x;
}

at::Tensor Backbone::leave_chunk(const at::Tensor& x, Carried& beside) const {
  PipelineStage* const stage = parallel_.stage.get();
  if (!stage || stage->is_end()) return last_norm(x);
  hand_over(*stage, handovers_[stage->chunk_layers().second], x, beside);
  return {};
}

at::Tensor Backbone::forward(const TokenLayout& layout, const Recomputation& recompute) const {
  const std::shared_ptr<const LayerPass> pass = training_pass(layout);
  const std::span<const LayerWeights> layers = entered_layers();
  Carried beside;
  at::Tensor x = enter_chunk(layout, *pass, beside);  // moved on, so that no layer's input outlives the layer
  x = run_units(layers, layer_units(recompute, std::ssize(layers)), std::move(x), pass, beside, parallel_);
  return leave_chunk(x, beside);
}

double Backbone::embedding_scale() const {
  return rounded(spec_.embedding_scale);
}

double Backbone::rounded(double number) const {
  return at::scalar_tensor(number, at::kDouble).to(dtype()).item<double>();
}

at::Tensor Backbone::last_norm(const at::Tensor& x) const {
  const bool is_fused = launcher_ && spec_.norm_offset() == 0 && takes_layer(x, {x.size(1)}, {final_norm_});
  return is_fused ? fused_norm(*launcher_, x, {}, final_norm_, spec_.rms_norm_eps).normed
                  : rms_norm(x, final_norm_, spec_.rms_norm_eps, spec_.norm_offset());
}

at::Tensor Backbone::extend(const CachedTokens& tokens, const KvRows& cache) const {
  const at::NoGradGuard no_grad;
  const Pieces pieces = pieces_on(tokens.ids.device(), tokens.cu_queries, tokens.cu_keys);
  size_t cached = 0;                  // attention blocks computed so far that have a cache
  std::array<size_t, 2> shared = {};  // cache index of each shared pair of keys and values
  const Attend attend = [&](const Attention& attention, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& sinks) {
    const bool reads_shared = attention.shared >= 0 && attention.k.outputs == 0;
    const auto shared_index = static_cast<size_t>(std::max<int64_t>(0, attention.shared));
    const size_t cache_index = reads_shared ? shared[shared_index] : cached++;
    if (attention.shared >= 0) shared[shared_index] = cache_index;
    const auto as_heads = [&](const at::Tensor& rows) { return rows.view({rows.size(0), -1, k.size(2)}); };
    at::Tensor keys = as_heads(cache.keys[cache_index]), values = as_heads(cache.values[cache_index]);
    const bool are_one = cache.keys[cache_index].is_same(cache.values[cache_index]);  // latents
    if (!reads_shared) {
      keys.index_copy_(0, tokens.rows, k.contiguous());
      if (!are_one) values.index_copy_(0, tokens.rows, v.contiguous());
    }
    const at::Tensor seen_keys = keys.index_select(0, tokens.seen);
    return packed_attention(q, seen_keys, are_one ? seen_keys : values.index_select(0, tokens.seen), pieces,
                            score_rule(attention), sinks);
  };
  size_t delta_index = 0;  // delta nets computed so far
  const Recur recur = [&](const DeltaHeads& heads, const DeltaRows& rows) {
    return advance_states(heads, rows, tokens.rounds, cache.states[delta_index++]);
  };
  const LayerPass pass = {.eps = spec_.rms_norm_eps,
                          .head_rotations = head_rotations(tokens.positions, tokens.num_positions),
                          .attend = attend,
                          .is_cached = true,
                          .recur = recur,
                          .flow = sampling_flow(),
                          .tp = parallel_.tp,
                          .launcher = launcher_.get(),
                          .routed = {.replayed = {}, .recorded = tokens.routed_experts}};
  at::Tensor x = embed(tokens.ids, pass.flow);
  Carried beside = carried(tokens.ids, x, pass);
  for (const LayerWeights& layer : layers_) x = run_layer(layer, x, pass, beside);
  return last_norm(x);
}

}  // namespace roll
