// Describes the layers of most architectures (architectures.h): names, sizes and sharding of products and norms.
#include "model/architectures.h"
#include "model/spec.h"

namespace roll {

namespace {

/// Makes products of one layer with their adapters, fusion and quantisation.
class LinearMaker {
 public:
  LinearMaker(const ModelSpec& spec, size_t layer) : spec_(spec), prefix_(layer_prefix(spec, layer)) {}

  LinearShape operator()(const std::string& name, int64_t outputs, int64_t inputs, bool has_bias, Cut cut,
                         FusedRows fused = {}) const {
    LinearShape linear = {.name = name, .outputs = outputs, .inputs = inputs, .has_bias = has_bias, .cut = cut};
    if (!fused.tensor_name.empty()) linear.fused = fused;
    const std::string folder_name(linear.name_in_folder());
    if (spec_.lora) linear.adapter = spec_.lora->adapter_shape(linear.adapted_name());
    if (spec_.bitsandbytes && !spec_.bitsandbytes->covers(prefix_ + folder_name)) return linear;
    linear.quantised = spec_.quantised;
    if (spec_.bitsandbytes) linear.quantised_from = spec_.bitsandbytes->from;
    return linear;
  }

 private:
  const ModelSpec& spec_;
  std::string prefix_;
};

/// Returns the RoPE of a layer.
RotaryRule make_rotary_rule(const ModelSpec& spec, size_t layer) {
  if (ModelSpec::is_marked(spec.no_rope, layer)) return {.rope = -1};
  const int64_t index = spec.local_rope && ModelSpec::is_marked(spec.slides, layer) ? 1 : 0;
  const Rope rope = spec.ropes()[index];
  return {.rope = index,
          .dim = rope.dim,
          .interleaved = rope.interleaved,
          .scale = rope.attention_factor,
          .grows = rope.query_growth != 0};
}

/// Returns Attention::shared: 0 for layers with a window, 1 for the others, -1: not shared.
int64_t shared_keys(const ModelSpec& spec, size_t layer) {
  if (spec.keyless_layers == 0) return -1;
  const auto sharing_index = [&](size_t i) { return ModelSpec::is_marked(spec.slides, i) ? 0 : 1; };
  for (size_t i = layer + 1; !spec.is_keyless(i); ++i)
    if (sharing_index(i) == sharing_index(layer)) return -1;  // the later layer makes them
  return sharing_index(layer);
}

Attention make_attention(const ModelSpec& spec, size_t layer, const LinearMaker& linear) {
  const WeightNames& names = spec.architecture->weights;
  const bool slides = ModelSpec::is_marked(spec.slides, layer), reads = spec.is_keyless(layer);
  const FullHeads head_sizes = spec.full_heads && !slides
                                   ? *spec.full_heads
                                   : FullHeads{.head_dim = spec.head_dim, .num_kv_heads = spec.num_kv_heads};
  const int64_t hidden = spec.hidden_size, size = head_sizes.head_dim, heads = spec.num_heads,
                kv_heads = head_sizes.num_kv_heads;
  const auto rows = [&](const std::string& name, int64_t count, int64_t heads_before) {
    return linear(name, count * size, hidden, spec.qkv_bias, {.dim = 0, .count = count, .width = size},
                  {names.qkv, heads_before * size, (heads + 2 * kv_heads) * size});
  };
  const bool gated = spec.architecture->gated_attention;
  const auto query_part = [&](const std::string& name, int64_t begin) {  // per head: query rows, then gate rows
    return linear(name, heads * size, hidden, spec.qkv_bias, {.dim = 0, .count = heads, .width = size},
                  {.tensor_name = names.q, .begin = begin, .rows = 2 * size, .groups = heads});
  };
  const auto norm = [&](const std::string& name, int64_t count) -> NormShape {
    if (!spec.qk_norm) return {name};
    if (!spec.architecture->wide_qk_norm) return {name, size, spec.norm_offset()};
    return {name, count * size, spec.norm_offset(), {.dim = 0, .count = count, .width = size}};
  };
  return {.num_heads = heads,
          .num_kv_heads = kv_heads,
          .head_dim = size,
          .q = gated ? query_part(names.q_query, 0) : rows(names.q, heads, 0),
          .k = reads ? LinearShape() : rows(names.k, kv_heads, heads),
          .v = reads || head_sizes.keys_are_values ? LinearShape() : rows(names.v, kv_heads, heads + kv_heads),
          .o = linear(names.o, hidden, heads * size, spec.o_bias, {.dim = 1, .count = heads, .width = size}),
          .q_norm = norm(names.q_norm, heads),
          .k_norm = reads ? NormShape() : norm(names.k_norm, kv_heads),
          .norms_after_rope = spec.qk_norm && spec.architecture->norms_after_rope,
          .norms_values = spec.architecture->value_norm,
          .shared = shared_keys(spec, layer),
          .sinks = spec.architecture->has_sinks
                       ? TensorShape{.name = names.sinks, .shape = {heads}, .cut = {.dim = 0, .count = heads}}
                       : TensorShape{},
          .gate = gated ? query_part(names.q_gate, size) : LinearShape(),
          .rotary = make_rotary_rule(spec, layer),
          .window = slides ? spec.window : 0,
          .soft_cap = spec.score_cap,
          .score_scale = spec.score_scale};
}

GatedMlp make_mlp(const ModelSpec& spec, size_t layer, const LinearMaker& linear) {
  const WeightNames& names = spec.architecture->weights;
  const bool is_wide = spec.widens_keyless && spec.is_keyless(layer);
  const int64_t hidden = spec.hidden_size, inner = spec.intermediate_size * (is_wide ? 2 : 1);
  const Cut rows = {.dim = 0, .count = inner}, columns = {.dim = 1, .count = inner};
  return {.inner = inner,
          .activation = spec.activation,
          .gate = linear(names.gate, inner, hidden, spec.mlp_bias, rows, {names.gate_up, 0, 2 * inner}),
          .up = linear(names.up, inner, hidden, spec.mlp_bias, rows, {names.gate_up, inner, 2 * inner}),
          .down = linear(names.down, hidden, inner, spec.mlp_bias, columns)};
}

}  // namespace

std::vector<Layer> dense_layers(const ModelSpec& spec) {
  const WeightNames& names = spec.architecture->weights;
  const NormPlace norm_place = spec.architecture->norms;
  const auto block = [&](const Mixer& mixer, const std::string& before, const std::string& behind) {
    Block one{.norm = {before}, .mixer = mixer, .after = {behind}, .scale = spec.branch_scale};
    if (norm_place != NormPlace::kAfter) one.norm = {before, spec.hidden_size, spec.norm_offset()};
    if (norm_place != NormPlace::kBefore) one.after = {behind, spec.hidden_size, spec.norm_offset()};
    return one;
  };
  std::vector<Layer> layers;
  for (size_t i = 0; i < static_cast<size_t>(spec.num_layers); ++i) {
    const LinearMaker linear(spec, i);
    const MakeLinear unbiased = [&](const std::string& name, int64_t outputs, int64_t inputs, const Cut& cut,
                                    const FusedRows& fused) {
      return linear(name, outputs, inputs, false, cut, fused);
    };
    const Mixer token_mixer = spec.latent                            ? Mixer(make_latent_attention(spec, unbiased))
                              : ModelSpec::is_marked(spec.recurs, i) ? Mixer(make_delta_net(spec, unbiased))
                                                                     : Mixer(make_attention(spec, i, linear));
    layers.push_back({block(token_mixer, names.before_attention, names.after_attention),
                      block(make_mlp(spec, i, linear), names.before_mlp, names.after_mlp)});
    if (spec.layer_inputs) {
      const int64_t width = spec.layer_inputs->width;
      layers.back().push_back(
          {.norm = {names.after_input},
           .mixer = LayerInput{.layer = static_cast<int64_t>(i),
                               .activation = spec.activation,
                               .gate = unbiased(names.input_gate, width, spec.hidden_size, {}, {}),
                               .projection = unbiased(names.input_out, spec.hidden_size, width, {}, {})},
           .after = {names.after_input, spec.hidden_size, spec.norm_offset()}});
    }
    if (!names.layer_scale.empty())
      layers.back().back().output_scale = {.name = names.layer_scale, .shape = {1}, .initial = 1, .is_constant = true};
  }
  return layers;
}

}  // namespace roll
