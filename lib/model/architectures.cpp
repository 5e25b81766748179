#include "model/architectures.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "model/architecture_families.h"
#include "model/spec.h"

namespace roll {

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
       .windows = Windows::kTyped,
       .usual_window = 4096},
      {.name = "ministral",
       .causal_class = "MinistralForCausalLM",
       .value_class = "MinistralForTokenClassification",
       .windows = Windows::kTyped,
       .usual_window = 4096},
      {.name = "ministral3",
       .causal_class = "Ministral3ForCausalLM",
       .value_class = "Ministral3ForTokenClassification",
       .head_dim = 128,
       .norm_eps = 1e-5,
       .windows = Windows::kAll,
       .needed_keys = {"rope_parameters"}},
      {.name = "smollm3",
       .causal_class = "SmolLM3ForCausalLM",
       .value_class = "SmolLM3ForTokenClassification",
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .mlp_bias = Bias::kByConfig,
       .tied_head = true,
       .rope = {.theta = 2e6},
       .no_rope = NoRope::kListed,
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
       .norms = NormPlace::kAfter},
      {.name = "olmo3",
       .causal_class = "Olmo3ForCausalLM",
       .value_class = "Olmo3ForSequenceClassification",
       .qk_norm = true,
       .wide_qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .norm_eps = 1e-5,
       .norms = NormPlace::kAfter,
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
       .rope = {.allows_partial = true},
       .windows = Windows::kAll,
       .weights = {.qkv = "self_attn.qkv_proj", .gate_up = "mlp.gate_up_proj"}},
      {.name = "glm",
       .causal_class = "GlmForCausalLM",
       .value_class = "GlmForTokenClassification",
       .qkv_bias = Bias::kUsually,
       .head_dim = 128,
       .norm_eps = 1.5625e-7,
       .rope = {.partial = 0.5, .allows_partial = true, .interleaved = true},
       .weights = {.gate_up = "mlp.gate_up_proj"}},
      {.name = "glm4",
       .causal_class = "Glm4ForCausalLM",
       .value_class = "Glm4ForTokenClassification",
       .qkv_bias = Bias::kUsually,
       .head_dim = 128,
       .norm_eps = 1.5625e-7,
       .norms = NormPlace::kBoth,
       .rope = {.partial = 0.5, .allows_partial = true, .interleaved = true},
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
       .qkv_bias = Bias::kUsually,
       .bias_keys = {.qkv = "qkv_bias"},
       .windows = Windows::kRefused,
       .mixtures = Mixtures::kQwen,
       .has_shared_expert = true,
       .layers = mixture_layers},
      {.name = "qwen3_moe",
       .causal_class = "Qwen3MoeForCausalLM",
       .value_class = "Qwen3MoeForTokenClassification",
       .qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .windows = Windows::kRefused,
       .mixtures = Mixtures::kQwen,
       .layers = mixture_layers},
      {.name = "glm4_moe",
       .causal_class = "Glm4MoeForCausalLM",
       .value_class = "Glm4MoeForTokenClassification",
       .qk_norm = true,
       .optional_qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .norm_eps = 1e-5,
       .rope = {.partial = 0.5, .allows_partial = true},
       .mixtures = Mixtures::kDeepSeek,
       .renormalises = true,
       .mtp = MtpNames(),
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
       .activation_key = "hidden_activation",
       .root_embedding = true,
       .query_scalar = true,
       .usual_score_cap = 50,
       .usual_logit_cap = 30,
       .weights = {.before_mlp = "pre_feedforward_layernorm"}},
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
       .has_bidirectional_key = true,
       .local_theta = 10000,
       .windows = Windows::kPattern,
       .window_pattern = 6,
       .usual_window = 4096,
       .activation = Activation::kGeluTanh,
       .activation_key = "hidden_activation",
       .root_embedding = true,
       .query_scalar = true,
       .weights = {.before_mlp = "pre_feedforward_layernorm"}},
  };
}

}  // namespace

Architecture beside_others(Architecture row, const std::vector<std::string>& others) {
  row.text_row = row.name;
  row.is_multimodal = true;
  row.kept.insert(row.kept.end(), others.begin(), others.end());
  WeightNames& names = row.weights;
  for (std::string* name : {&names.embedding, &names.final_norm, &names.layer, &names.input_table,
                            &names.input_projection, &names.input_projection_norm})
    name->insert(name->find('.'), ".language_model");
  return row;
}

namespace {

/// Gemma 4: layers with a window and layers without have different heads.
Architectures gemma4() {
  Architecture text = {.name = "gemma4_text",
                       .causal_class = "Gemma4ForCausalLM",
                       .value_class = "Gemma4TextForSequenceClassification",
                       .qk_norm = true,
                       .qkv_bias = Bias::kByConfig,
                       .o_bias = Bias::kByConfig,
                       .head_dim = 256,
                       .tied_head = true,
                       .norms = NormPlace::kBoth,
                       .has_bidirectional_key = true,
                       .windows = Windows::kPattern,
                       .window_pattern = 6,
                       .usual_window = 512,
                       .activation = Activation::kGeluTanh,
                       .activation_key = "hidden_activation",
                       .root_embedding = true,
                       .unit_scores = true,
                       .full_heads = true,
                       .value_norm = true,
                       .mixtures = Mixtures::kBesideMlps,
                       .stacks_experts = true,
                       .weights = {.before_mlp = "pre_feedforward_layernorm",
                                   .experts = "experts",
                                   .stacked_gate_up = "experts.gate_up_proj",
                                   .stacked_down = "experts.down_proj",
                                   .router = "router.proj",
                                   .layer_scale = "layer_scalar"},
                       .layers = layers_beside_experts};
  Architecture with_vision =
      beside_others(text, {"model.vision_tower.", "model.embed_vision.", "model.audio_tower.", "model.embed_audio."});
  with_vision.name = "gemma4";
  with_vision.causal_class = "Gemma4ForConditionalGeneration";
  return {text, with_vision};
}

/// Gated delta nets in three of four layers, gated attention in the others.
Architecture hybrid(Architecture row) {
  row.qk_norm = true;
  row.qkv_bias = row.o_bias = Bias::kByConfig;
  row.head_dim = 256;
  row.norm_offset = 1;
  row.rope = {.partial = 0.25, .allows_partial = true};
  row.gated_attention = true;
  row.kept = {"mtp."};
  row.mtp = MtpNames{.prefix = "mtp.",
                     .layer = "layers.0.",
                     .projection = "fc",
                     .embedding_norm = "pre_fc_norm_embedding",
                     .hidden_norm = "pre_fc_norm_hidden",
                     .norm = "norm",
                     .embedding_copy = "",
                     .head_copy = "",
                     .count_key = "mtp_num_hidden_layers"};
  if (row.has_experts()) row.has_shared_expert = row.renormalises = true;
  row.fixed_mixture = row.always_renormalises = row.delta_nets == DeltaNets::kSideBySide;
  if (row.has_experts()) row.layers = mixture_layers;
  return row;
}

Architectures hybrids() {
  const Architecture qwen3_next = hybrid({.name = "qwen3_next",
                                          .causal_class = "Qwen3NextForCausalLM",
                                          .value_class = "Qwen3NextForTokenClassification",
                                          .mixtures = Mixtures::kQwen,
                                          .delta_nets = DeltaNets::kByHeads});
  const Architecture dense = hybrid({.name = "qwen3_5_text",
                                     .causal_class = "Qwen3_5ForCausalLM",
                                     .value_class = "Qwen3_5TextForSequenceClassification",
                                     .delta_nets = DeltaNets::kSideBySide});
  const Architecture mixture = hybrid({.name = "qwen3_5_moe_text",
                                       .causal_class = "Qwen3_5MoeForCausalLM",
                                       .value_class = "Qwen3_5MoeForTokenClassification",
                                       .mixtures = Mixtures::kQwen,
                                       .delta_nets = DeltaNets::kSideBySide});
  Architecture with_vision = beside_others(dense, {"model.visual."});
  Architecture mixture_with_vision = beside_others(mixture, {"model.visual."});
  with_vision.name = "qwen3_5";
  with_vision.causal_class = "Qwen3_5ForConditionalGeneration";
  with_vision.value_class = "Qwen3_5ForTokenClassification";
  mixture_with_vision.name = "qwen3_5_moe";
  mixture_with_vision.causal_class = "Qwen3_5MoeForConditionalGeneration";
  mixture_with_vision.stacks_experts = true;
  return {qwen3_next, dense, mixture, with_vision, mixture_with_vision};
}

}  // namespace

bool Architecture::needs(const std::string& key) const {
  return std::ranges::find(needed_keys, key) != needed_keys.end();
}

const Architectures& architectures() {
  static const Architectures rows = [] {
    Architectures all;
    for (const auto family : {llama_and_qwen, mistral_and_smollm, olmo, phi_and_glm, gemma, gemma4, mixtures, hybrids,
                              further_dense, further_mixtures})
      for (Architecture& row : family()) all.push_back(std::move(row));
    for (Architecture& row : multimodal(all)) all.push_back(std::move(row));
    return all;
  }();
  return rows;
}

std::string architecture_list(const std::string& last_word, const Architectures& known) {
  std::vector<std::string> names;
  for (const Architecture& row : known)
    if (std::ranges::find(names, row.name) == names.end()) names.push_back(row.name);
  std::string list = names.front();
  for (size_t i = 1; i < names.size(); ++i)
    list += (i + 1 < names.size() ? ", " : fmt::format(" {} ", last_word)) + names[i];
  return list;
}

const Architecture* look_up_architecture(const std::string& name, const Architectures& known) {
  const auto found = std::ranges::find(known, name, &Architecture::name);
  return found == known.end() ? nullptr : &*found;
}

const Architecture& find_architecture(const std::string& name, const std::string& origin, const Architectures& known) {
  if (const Architecture* found = look_up_architecture(name, known)) return *found;
  std::vector<std::string> names;
  for (const Architecture& row : known) names.push_back(row.name);
  throw user_error("{} = {}: only {} are supported{}", origin, name, architecture_list("and", known),
                   did_you_mean(name, names));
}

}  // namespace roll
