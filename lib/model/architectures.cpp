#include "model/architectures.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/nearest.h"
#include "model/spec.h"

namespace roll {

namespace {

/// What the products of a layer have beside their sizes.
class LinearMaker {
 public:
  LinearMaker(const ModelSpec& spec, size_t layer) : spec_(spec), prefix_(layer_prefix(spec, layer)) {}

  LinearShape operator()(const std::string& name, int64_t outputs, int64_t inputs, bool has_bias, Cut cut,
                         FusedRows fused = {}) const {
    LinearShape linear = {.name = name, .outputs = outputs, .inputs = inputs, .has_bias = has_bias, .cut = cut};
    if (!fused.of.empty()) linear.fused = fused;
    const std::string there(linear.name_in_folder());
    if (spec_.lora) linear.adapter = spec_.lora->adapter_of(linear.adapted_name());
    if (spec_.bitsandbytes && !spec_.bitsandbytes->covers(prefix_ + there)) return linear;
    linear.quantised = spec_.quantised;
    if (spec_.bitsandbytes) linear.quantised_from = spec_.bitsandbytes->from;
    return linear;
  }

 private:
  const ModelSpec& spec_;
  std::string prefix_;
};

/// How the heads of a layer turn, where they do.
Turning turning_of(const ModelSpec& spec, size_t layer) {
  if (ModelSpec::names(spec.unturned, layer)) return {.rope = -1};
  const int64_t index = spec.local_rope && ModelSpec::names(spec.slides, layer) ? 1 : 0;
  const Rope rope = spec.ropes()[index];
  return {.rope = index,
          .dim = rope.dim,
          .interleaved = rope.interleaved,
          .scale = rope.attention_factor,
          .grows = rope.query_growth != 0};
}

Attention attention_of(const ModelSpec& spec, size_t layer, const LinearMaker& linear) {
  const WeightNames& names = spec.architecture->weights;
  const int64_t hidden = spec.hidden_size, size = spec.head_dim, heads = spec.num_heads, kv_heads = spec.num_kv_heads;
  const auto rows = [&](const std::string& name, int64_t count, int64_t heads_before) {
    return linear(name, count * size, hidden, spec.qkv_bias, {.dim = 0, .count = count, .width = size},
                  {names.qkv, heads_before * size, (heads + 2 * kv_heads) * size});
  };
  const bool gated = spec.architecture->gated_attention;
  const auto of_query = [&](const std::string& name, int64_t begin) {  // of each head first the query, then the gate
    return linear(name, heads * size, hidden, spec.qkv_bias, {.dim = 0, .count = heads, .width = size},
                  {.of = names.q, .begin = begin, .rows = 2 * size, .groups = heads});
  };
  const auto norm = [&](const std::string& name, int64_t count) -> NormShape {
    if (!spec.qk_norm) return {name};
    if (!spec.architecture->wide_qk_norm) return {name, size, spec.norm_offset()};
    return {name, count * size, spec.norm_offset(), {.dim = 0, .count = count, .width = size}};
  };
  return {.num_heads = heads,
          .num_kv_heads = kv_heads,
          .head_dim = size,
          .q = gated ? of_query(names.q_query, 0) : rows(names.q, heads, 0),
          .k = rows(names.k, kv_heads, heads),
          .v = rows(names.v, kv_heads, heads + kv_heads),
          .o = linear(names.o, hidden, heads * size, spec.o_bias, {.dim = 1, .count = heads, .width = size}),
          .q_norm = norm(names.q_norm, heads),
          .k_norm = norm(names.k_norm, kv_heads),
          .gate = gated ? of_query(names.q_gate, size) : LinearShape(),
          .turning = turning_of(spec, layer),
          .window = ModelSpec::names(spec.slides, layer) ? spec.window : 0,
          .soft_cap = spec.score_cap,
          .scale_of_scores = spec.score_scale};
}

GatedMlp mlp_of(const ModelSpec& spec, const LinearMaker& linear) {
  const WeightNames& names = spec.architecture->weights;
  const int64_t hidden = spec.hidden_size, inner = spec.intermediate_size;
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
  const NormPlace place = spec.architecture->norms;
  const auto block = [&](const Mixer& mixer, const std::string& before, const std::string& behind) {
    Block one{.norm = {before}, .mixer = mixer, .after = {behind}, .scale = spec.branch_scale};
    if (place != NormPlace::kBehind) one.norm = {before, spec.hidden_size, spec.norm_offset()};
    if (place != NormPlace::kBefore) one.after = {behind, spec.hidden_size, spec.norm_offset()};
    return one;
  };
  std::vector<Layer> layers;
  for (size_t i = 0; i < static_cast<size_t>(spec.num_layers); ++i) {
    const LinearMaker linear(spec, i);
    const MakeLinear unbiased = [&](const std::string& name, int64_t outputs, int64_t inputs, const Cut& cut,
                                    const FusedRows& fused) {
      return linear(name, outputs, inputs, false, cut, fused);
    };
    const Mixer first =
        ModelSpec::names(spec.recurs, i) ? Mixer(delta_net_of(spec, unbiased)) : Mixer(attention_of(spec, i, linear));
    layers.push_back({block(first, names.input_norm, names.after_attention),
                      block(mlp_of(spec, linear), names.post_norm, names.after_mlp)});
  }
  return layers;
}

namespace {

Architectures llama_and_qwen() {
  return {
      {.name = "qwen2",
       .causal_class = "Qwen2ForCausalLM",
       .value_class = "Qwen2ForTokenClassification",
       .qkv_bias = Bias::kAlways,
       .windows = Windows::kOptIn},
      {.name = "qwen3",
       .causal_class = "Qwen3ForCausalLM",
       .value_class = "Qwen3ForTokenClassification",
       .qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .head_dim = 128,
       .windows = Windows::kOptIn},
      {.name = "llama",
       .causal_class = "LlamaForCausalLM",
       .value_class = "LlamaForTokenClassification",
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .mlp_bias = Bias::kByConfig},
  };
}

Architectures mistral_and_smollm() {
  return {
      {.name = "mistral",
       .causal_class = "MistralForCausalLM",
       .value_class = "MistralForTokenClassification",
       .windows = Windows::kAll,
       .usual_window = 4096},
      {.name = "ministral3",
       .causal_class = "Ministral3ForCausalLM",
       .value_class = "Ministral3ForTokenClassification",
       .head_dim = 128,
       .norm_eps = 1e-5,
       .windows = Windows::kAll},
      {.name = "smollm3",
       .causal_class = "SmolLM3ForCausalLM",
       .value_class = "SmolLM3ForTokenClassification",
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .mlp_bias = Bias::kByConfig,
       .tied_head = true,
       .rope = {.theta = 2e6},
       .unturned_layers = true,
       .windows = Windows::kOptIn},
      {.name = "granite",
       .causal_class = "GraniteForCausalLM",
       .value_class = "GraniteForSequenceClassification",
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .mlp_bias = Bias::kByConfig,
       .multipliers = true},
  };
}

Architectures olmo() {
  return {
      {.name = "olmo2",
       .causal_class = "Olmo2ForCausalLM",
       .value_class = "Olmo2ForSequenceClassification",
       .qk_norm = true,
       .wide_qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .norm_eps = 1e-5,
       .norms = NormPlace::kBehind},
      {.name = "olmo3",
       .causal_class = "Olmo3ForCausalLM",
       .value_class = "Olmo3ForSequenceClassification",
       .qk_norm = true,
       .wide_qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .norm_eps = 1e-5,
       .norms = NormPlace::kBehind,
       .rope = {.theta = 5e5},
       .local_theta = -1,
       .windows = Windows::kPattern,
       .window_pattern = 4,
       .usual_window = 4096},
  };
}

Architectures phi_and_glm() {
  return {
      {.name = "phi3",
       .causal_class = "Phi3ForCausalLM",
       .value_class = "Phi3ForTokenClassification",
       .norm_eps = 1e-5,
       .windows = Windows::kAll,
       .weights = {.qkv = "self_attn.qkv_proj", .gate_up = "mlp.gate_up_proj"}},
      {.name = "glm",
       .causal_class = "GlmForCausalLM",
       .value_class = "GlmForTokenClassification",
       .qkv_bias = Bias::kUsually,
       .head_dim = 128,
       .norm_eps = 1.5625e-7,
       .rope = {.partial = 0.5, .interleaved = true},
       .weights = {.gate_up = "mlp.gate_up_proj"}},
      {.name = "glm4",
       .causal_class = "Glm4ForCausalLM",
       .value_class = "Glm4ForTokenClassification",
       .qkv_bias = Bias::kUsually,
       .head_dim = 128,
       .norm_eps = 1.5625e-7,
       .norms = NormPlace::kBoth,
       .rope = {.partial = 0.5, .interleaved = true},
       .weights = {.after_attention = "post_self_attn_layernorm",
                   .after_mlp = "post_mlp_layernorm",
                   .gate_up = "mlp.gate_up_proj"}},
  };
}

Architectures mixtures() {
  return {
      {.name = "qwen2_moe",
       .causal_class = "Qwen2MoeForCausalLM",
       .value_class = "Qwen2MoeForTokenClassification",
       .qkv_bias = Bias::kAlways,
       .has_experts = true,
       .has_shared_expert = true,
       .layers = mixture_layers},
      {.name = "qwen3_moe",
       .causal_class = "Qwen3MoeForCausalLM",
       .value_class = "Qwen3MoeForTokenClassification",
       .qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .has_experts = true,
       .layers = mixture_layers},
  };
}

Architectures gemma() {
  return {
      {.name = "gemma",
       .causal_class = "GemmaForCausalLM",
       .value_class = "GemmaForTokenClassification",
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .head_dim = 256,
       .tied_head = true,
       .norm_offset = 1,
       .activation = Activation::kGeluTanh,
       .root_embedding = true},
      {.name = "gemma2",
       .causal_class = "Gemma2ForCausalLM",
       .value_class = "Gemma2ForTokenClassification",
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .head_dim = 256,
       .tied_head = true,
       .norm_offset = 1,
       .norms = NormPlace::kBoth,
       .windows = Windows::kPattern,
       .window_pattern = 2,
       .usual_window = 4096,
       .activation = Activation::kGeluTanh,
       .root_embedding = true,
       .query_scalar = true,
       .usual_score_cap = 50,
       .usual_logit_cap = 30,
       .weights = {.post_norm = "pre_feedforward_layernorm"}},
      {.name = "gemma3_text",
       .causal_class = "Gemma3ForCausalLM",
       .value_class = "Gemma3TextForSequenceClassification",
       .qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .head_dim = 256,
       .tied_head = true,
       .norm_offset = 1,
       .norms = NormPlace::kBoth,
       .rope = {.theta = 1e6},
       .local_theta = 10000,
       .windows = Windows::kPattern,
       .window_pattern = 6,
       .usual_window = 4096,
       .activation = Activation::kGeluTanh,
       .root_embedding = true,
       .query_scalar = true,
       .weights = {.post_norm = "pre_feedforward_layernorm"}},
  };
}

/// Gated delta nets in three of four layers, gated attention in the others.
Architecture hybrid(Architecture row) {
  row.qk_norm = true;
  row.qkv_bias = row.o_bias = Bias::kByConfig;
  row.head_dim = 256;
  row.norm_offset = 1;
  row.rope = {.partial = 0.25};
  row.gated_attention = true;
  row.kept = {"mtp."};  // which guesses further tokens
  if (row.has_experts) row.has_shared_expert = row.renormalises = true;
  if (row.has_experts) row.layers = mixture_layers;
  return row;
}

/// Of a folder with a vision tower.
Architecture beside_vision(Architecture row) {
  row.has_more = true;
  row.kept.emplace_back("model.visual.");
  row.weights.embedding = "model.language_model.embed_tokens";
  row.weights.final_norm = "model.language_model.norm";
  row.weights.layer = "model.language_model.layers.";
  return row;
}

Architectures hybrids() {
  const Architecture qwen3_next = hybrid({.name = "qwen3_next",
                                          .causal_class = "Qwen3NextForCausalLM",
                                          .value_class = "Qwen3NextForTokenClassification",
                                          .has_experts = true,
                                          .delta_nets = DeltaNets::kByHeads});
  const Architecture dense = hybrid({.name = "qwen3_5_text",
                                     .causal_class = "Qwen3_5ForCausalLM",
                                     .value_class = "Qwen3_5TextForSequenceClassification",
                                     .delta_nets = DeltaNets::kSideBySide});
  const Architecture mixture = hybrid({.name = "qwen3_5_moe_text",
                                       .causal_class = "Qwen3_5MoeForCausalLM",
                                       .value_class = "Qwen3_5MoeForTokenClassification",
                                       .has_experts = true,
                                       .delta_nets = DeltaNets::kSideBySide});
  Architecture with_vision = beside_vision(dense), mixture_with_vision = beside_vision(mixture);
  with_vision.name = "qwen3_5";
  with_vision.causal_class = "Qwen3_5ForConditionalGeneration";
  with_vision.value_class = "Qwen3_5ForTokenClassification";
  mixture_with_vision.name = "qwen3_5_moe";
  mixture_with_vision.causal_class = "Qwen3_5MoeForConditionalGeneration";
  mixture_with_vision.stacks_experts = true;
  return {qwen3_next, dense, mixture, with_vision, mixture_with_vision};
}

}  // namespace

const Architectures& architectures() {
  static const Architectures rows = [] {
    Architectures all;
    for (const auto family : {llama_and_qwen, mistral_and_smollm, olmo, phi_and_glm, gemma, mixtures, hybrids})
      for (Architecture& row : family()) all.push_back(std::move(row));
    return all;
  }();
  return rows;
}

std::string architecture_list(const std::string& last_word, const Architectures& known) {
  std::string list = known.front().name;
  for (size_t i = 1; i < known.size(); ++i)
    list += (i + 1 < known.size() ? ", " : fmt::format(" {} ", last_word)) + known[i].name;
  return list;
}

const Architecture& find_architecture(const std::string& name, const std::string& origin, const Architectures& known) {
  std::vector<std::string> names;
  for (const Architecture& row : known) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw user_error("{} = {}: only {} are supported{}", origin, name, architecture_list("and", known),
                   did_you_mean(name, names));
}

}  // namespace roll
