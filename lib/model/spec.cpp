#include "model/spec.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "model/config_reader.h"
#include "ops/layer_ops.h"

namespace roll {

namespace {

/// Returns by layer if it has a window: by layer_types, else by the rule of the architecture.
std::vector<char> read_slides(const ConfigReader& config, const ModelSpec& spec) {
  const Architecture& row = *spec.architecture;
  std::vector<char> slides(static_cast<size_t>(spec.num_layers), 1);
  const Json* types = config.find("layer_types");
  if (row.windows == Windows::kAll || (row.windows == Windows::kTyped && !types)) return slides;
  const int64_t first = config.count("max_window_layers", SizeLimits::kLayers, 28, 0);
  const bool has_pattern = row.windows == Windows::kPattern && !types;  // EXAONE's may be text beside layer_types
  const int64_t pattern = has_pattern ? config.count("sliding_window_pattern", SizeLimits::kLayers,
                                                     std::max<int64_t>(1, row.window_pattern))
                                      : 1;
  for (int64_t i = 0; i < spec.num_layers; ++i)
    slides[i] = has_pattern                       ? (i + 1) % pattern != 0
                : row.windows == Windows::kMarked ? 0
                : row.no_rope == NoRope::kListed  ? ModelSpec::is_marked(spec.no_rope, i)
                                                  : i >= first;
  if (types && (!types->is_array() || types->size() != slides.size()))
    config.fail("layer_types", fmt::format("a list of {} layer types is needed", slides.size()));
  for (size_t i = 0; types && i < slides.size(); ++i) slides[i] = (*types)[i] == "sliding_attention";
  if (row.full_heads) slides.back() = 0;  // transformers does so, despite layer_types
  return slides;
}

void read_window(const ConfigReader& config, ModelSpec& spec) {
  const Architecture& row = *spec.architecture;
  if (row.windows == Windows::kNone && row.delta_nets == DeltaNets::kNone) return;
  if (const Json* types = config.find("layer_types"))
    for (const Json& type : *types)
      if (type != "full_attention" && (type != "sliding_attention" || !row.has_windows()) &&
          (type != "linear_attention" || row.delta_nets == DeltaNets::kNone))
        config.fail("layer_types",
                    "only full_attention is supported, and sliding_attention and linear_attention in architectures "
                    "that have such layers");
  if (!row.has_windows()) {
    if (row.windows == Windows::kRefused && config.flag("use_sliding_window") && config.find("sliding_window"))
      config.fail("use_sliding_window",
                  "roll supports this architecture without a window only; set it to false if you mean full attention");
    return;
  }
  const bool is_usual = !config.names("sliding_window") && row.usual_window > 0;
  const bool is_wanted = row.windows != Windows::kOptIn || config.flag("use_sliding_window");
  if (!is_wanted || (!config.find("sliding_window") && !is_usual)) {
    if (config.find("layer_types") && row.windows != Windows::kAll && row.windows != Windows::kTyped)
      for (const Json& type : *config.find("layer_types"))
        if (type == "sliding_attention")
          config.fail("layer_types", "some layers are sliding_attention, but sliding_window is not in use");
    return;
  }
  spec.window = is_usual ? row.usual_window : config.count("sliding_window", SizeLimits::kPositions);
  spec.slides = read_slides(config, spec);
  if (row.no_rope == NoRope::kWithoutWindow)
    for (const char slides : spec.slides) spec.no_rope.push_back(!slides);
  if (std::ranges::all_of(spec.slides, [](char slides) { return slides == 0; })) spec.slides.clear(), spec.window = 0;
}

void read_no_rope_layers(const ConfigReader& config, ModelSpec& spec) {
  if (spec.architecture->no_rope != NoRope::kListed) return;
  const auto layers = static_cast<size_t>(spec.num_layers);
  const int64_t interval = config.count("no_rope_layer_interval", SizeLimits::kLayers, 4);
  for (size_t i = 0; i < layers; ++i) spec.no_rope.push_back((i + 1) % interval == 0);
  const Json* rope_flags = config.find("no_rope_layers");  // 1: the layer has RoPE
  if (!rope_flags) return;
  if (!rope_flags->is_array() || rope_flags->size() < layers)
    config.fail("no_rope_layers", fmt::format("a list of {} numbers, 0 or 1, is needed", layers));
  for (size_t i = 0; i < layers; ++i) spec.no_rope[i] = (*rope_flags)[i] == 0;
}

/// Reads a cap; null in config.json removes it.
double read_cap(const ConfigReader& config, const char* key, double usual) {
  if (!config.names(key)) return usual;
  return config.find(key) ? config.positive(key) : 0;
}

void read_scales(const ConfigReader& config, ModelSpec& spec) {
  const Architecture& row = *spec.architecture;
  if (row.multipliers) {
    spec.embedding_scale = config.positive("embedding_multiplier", 1.0);
    spec.branch_scale = config.positive("residual_multiplier", 1.0);
    spec.score_scale = config.positive("attention_multiplier", 1.0);
    spec.logit_scale = 1 / config.positive("logits_scaling", 1.0);
  }
  if (row.root_embedding) spec.embedding_scale = std::sqrt(static_cast<double>(spec.hidden_size));
  if (row.unit_scores) spec.score_scale = 1;
  if (row.query_scalar) {
    spec.score_scale = 1 / std::sqrt(config.positive("query_pre_attn_scalar", 256.0));
    if (row.usual_score_cap > 0) spec.score_cap = read_cap(config, "attn_logit_softcapping", row.usual_score_cap);
  }
  if (row.query_scalar || row.unit_scores)
    spec.logit_cap = read_cap(config, "final_logit_softcapping", row.usual_logit_cap);
}

struct ActivationName {
  const char* name;
  Activation activation;
};
/// transformers' names; the first one of each kind is written.
constexpr ActivationName kActivations[] = {{"silu", Activation::kSilu},
                                           {"swish", Activation::kSilu},
                                           {"gelu_pytorch_tanh", Activation::kGeluTanh},
                                           {"gelu_new", Activation::kGeluTanh},
                                           {"gelu_fast", Activation::kGeluTanh},
                                           {"gelu_accurate", Activation::kGeluTanh},
                                           {"gelu_python_tanh", Activation::kGeluTanh},
                                           {"silu", Activation::kClampedSwiglu}};  // gpt-oss says silu, too

const char* enum_name(Activation activation) {
  return std::ranges::find(kActivations, activation, &ActivationName::activation)->name;
}

Activation read_activation(const ConfigReader& config, const Architecture& row) {
  const std::string key = row.activation_key, name = config.text(row.activation_key, enum_name(row.activation));
  if (row.activation == Activation::kClampedSwiglu) {
    if (name != "silu") config.fail(row.activation_key, "only silu is supported in this architecture");
    for (const auto& [limit_key, only] : {std::pair("swiglu_limit", kSwigluLimit), {"swiglu_alpha", kSwigluSlope}})
      if (config.positive(limit_key, only) != only) config.fail(limit_key, fmt::format("only {} is supported", only));
    return row.activation;
  }
  // Gemma 1's folders say gelu, and transformers takes the tanh approximation.
  if (name == "gelu" && row.activation == Activation::kGeluTanh && key == "hidden_act") return row.activation;
  for (const ActivationName& known : kActivations)
    if (known.name == name) return known.activation;
  config.fail(row.activation_key,
              "only silu and gelu_pytorch_tanh, and transformers' other names for them, are supported");
}

void refuse_unknown_maths(const ConfigReader& config, const Architecture& row) {
  for (const char* key : {"attention_dropout", "resid_pdrop", "embd_pdrop"})
    if (const Json* dropout = config.find(key); dropout && *dropout != 0 && !row.ignores_dropout)
      config.fail(key, "only 0 is supported");
  for (const char* key : row.refused_keys)
    if (config.find(key)) config.fail(key, "roll supports this architecture without it only, with the value null");
  const char* const both = "use_bidirectional_attention";
  const bool is_for_images =
      row.full_heads && config.find(both) && *config.find(both) == "vision";  // there are no image tokens
  if (row.has_bidirectional_key && !is_for_images && config.flag(both))
    config.fail(both, "only causal attention is supported");
}

void read_sizes(const ConfigReader& config, ModelSpec& spec) {
  spec.vocab_size = config.count("vocab_size", SizeLimits::kVocab);
  spec.hidden_size = config.count("hidden_size", SizeLimits::kHidden);
  const bool has_intermediate = config.find("intermediate_size") || !spec.architecture->has_experts();
  spec.intermediate_size =
      config.count(has_intermediate ? "intermediate_size" : "moe_intermediate_size", SizeLimits::kIntermediate);
  spec.num_layers = config.count("num_hidden_layers", SizeLimits::kLayers);
  spec.num_heads = config.count("num_attention_heads", SizeLimits::kHeads);
  spec.num_kv_heads = config.count("num_key_value_heads", SizeLimits::kHeads, spec.num_heads);
  spec.max_positions = config.count("max_position_embeddings", SizeLimits::kPositions);
  if (spec.num_heads % spec.num_kv_heads != 0)
    config.fail("num_key_value_heads", fmt::format("must divide num_attention_heads ({})", spec.num_heads));
  if (spec.architecture->has_latents) return read_latent(config, spec);
  const std::optional<int64_t> usual = spec.architecture->head_dim;
  const bool has_head_dim = usual || config.find("head_dim");
  if (!has_head_dim && spec.hidden_size % spec.num_heads != 0)
    config.fail("hidden_size", fmt::format("must be divisible by num_attention_heads ({})", spec.num_heads));
  spec.head_dim =
      has_head_dim ? config.count("head_dim", SizeLimits::kHeadDim, usual) : spec.hidden_size / spec.num_heads;
  if (spec.head_dim % 2 != 0) config.fail("head_dim", "must be even, because rotary embeddings rotate pairs");
}

}  // namespace

void read_features(const Json& json, const std::string& origin, ModelSpec& spec) {
  const ConfigReader config(json, origin);
  const Architecture& row = *spec.architecture;
  const auto has = [&](Bias bias, const char* key) {
    return bias == Bias::kAlways || (bias != Bias::kNever && config.flag(key, bias == Bias::kUsually));
  };
  spec.qk_norm = row.wide_qk_norm || (row.qk_norm && (!row.optional_qk_norm || config.flag("use_qk_norm")));
  spec.qkv_bias = has(row.qkv_bias, row.bias_keys.qkv);
  spec.o_bias = has(row.o_bias, row.bias_keys.o);
  spec.mlp_bias = has(row.mlp_bias, row.bias_keys.mlp);
  spec.tied_head = config.flag("tie_word_embeddings", row.tied_head);
  spec.activation = read_activation(config, row);
  if (spec.activation != row.activation && (row.has_experts() || row.delta_nets != DeltaNets::kNone))
    config.fail(row.activation_key, "only silu is supported in this architecture");
  read_scales(config, spec);
  read_no_rope_layers(config, spec);
  read_window(config, spec);
  if (row.delta_nets != DeltaNets::kNone) {
    spec.delta = read_delta(config);
    spec.recurs = read_recurs(config, spec.num_layers);
  }
  if (row.full_heads) {
    spec.full_heads = read_full_heads(config, spec);
    read_shared_parts(config, spec);
    return read_ropes_by_kind(config, spec.full_heads->head_dim, spec.head_dim, spec.max_positions, spec.rope,
                              spec.local_rope.emplace());
  }
  if (row.local_theta != 0) spec.local_rope.emplace();
  read_ropes(config, spec.latent ? spec.latent->rotated_dim : spec.head_dim, spec.max_positions, row.rope, spec.rope,
             spec.local_rope ? &*spec.local_rope : nullptr, row.local_theta);
  if (spec.latent) spec.score_scale = latent_score_scale(spec);
}

namespace {

/// Returns the language model's keys, if config.json describes other models beside it.
Json language_config(const Json& json, const ConfigReader& config, const Architecture& row) {
  if (!config.find("text_config") && row.may_be_flat) return json;
  if (!config.find("text_config")) config.fail("text_config", "the language model's configuration is needed");
  config.object("text_config");
  Json language = json["text_config"];
  // transformers ties the head of the whole model by the outer key alone.
  if (row.tied_head) language.erase("tie_word_embeddings");
  for (const char* key : {"tie_word_embeddings", "quantization_config"})
    if (config.find(key)) language[key] = json[key];
  return language;
}

/// Chooses among the rows of a multimodal model by the type of its language model.
const Architecture& find_text(const Architecture& first, const ConfigReader& config, const Architectures& known) {
  if (first.text_type.empty() || !config.find("text_config")) return first;
  const ConfigReader text = config.object("text_config");
  const std::string type = text.text("model_type", first.text_type.c_str());
  std::string types;
  for (const Architecture& row : known) {
    if (row.name != first.name) continue;
    if (row.text_type == type) return row;
    types += (types.empty() ? "" : ", ") + row.text_type;
  }
  text.fail("model_type", fmt::format("beside {}, only {} is supported", first.name, types));
}

/// Adds the row's defaults. Refuses a file that lacks keys without which transformers computes with unusual values.
void complete(const Architecture& row, const ConfigReader& config, Json& json) {
  for (const std::string& key : row.needed_keys) {
    const bool has_older = key == "rope_parameters" && config.find("rope_scaling");
    if (!config.find(key.c_str()) && !has_older)
      config.fail(key.c_str(), "missing; transformers would use default values, so write these out");
  }
  for (const auto& [key, value] : row.defaults)
    if (!json.contains(key)) json[key] = value;
}

}  // namespace

ModelSpec parse_spec(const Json& whole, const std::string& whole_origin, const Architectures& known) {
  const ConfigReader outer(whole, whole_origin);
  if (!outer.find("model_type"))
    throw user_error("{}: model_type: missing; only {} are supported", whole_origin, architecture_list("and", known));
  ModelSpec spec;
  spec.architecture =
      &find_text(find_architecture(outer.text("model_type", ""), whole_origin + ": model_type", known), outer, known);
  const bool has_more = spec.architecture->is_multimodal;
  Json json = has_more ? language_config(whole, outer, *spec.architecture) : whole;
  const std::string origin = has_more && outer.find("text_config") ? whole_origin + ": text_config" : whole_origin;
  const ConfigReader config(json, origin);
  complete(*spec.architecture, config, json);
  read_sizes(config, spec);
  spec.rms_norm_eps = config.positive("rms_norm_eps", spec.architecture->norm_eps);
  read_features(json, origin, spec);
  spec.mixture = read_mixture(config, spec);
  refuse_unknown_maths(config, *spec.architecture);
  spec.bitsandbytes = bitsandbytes_config(json, origin);
  if (spec.bitsandbytes) spec.quantised = spec.bitsandbytes->kind;
  if (spec.local_rope && spec.local_rope->kind == RopeKind::kLongRope)
    config.fail("rope_parameters", "longrope is supported if all layers use it, not if only layers with a window do");
  if (spec.rope.kind == RopeKind::kLongRope)
    spec.max_positions = std::min(spec.max_positions, spec.rope.original_positions);
  if (const auto size = static_cast<double>(spec.num_parameters()); size > SizeLimits::kParameters)
    throw user_error(
        "{}: describes a model of {:.0e} parameters, more than {:.0e}; check hidden_size, vocab_size and "
        "num_hidden_layers",
        origin, size, SizeLimits::kParameters);
  return spec;
}

ModelSpec for_length(ModelSpec spec, int64_t longest) {
  if (longest <= spec.max_positions || spec.most_positions() == spec.max_positions) return spec;
  spec.rope.is_long = true;
  spec.max_positions = spec.most_positions();
  return spec;
}

namespace {

/// Writes keys that only some architectures have.
void write_features(const ModelSpec& spec, Json& config) {
  const Architecture& row = *spec.architecture;
  const auto cap = [](double value) { return value > 0 ? Json(value) : Json(); };
  if (row.rope.reads_interleave) config["rope_interleave"] = spec.rope.interleaved;
  if (row.optional_qk_norm) config["use_qk_norm"] = spec.qk_norm;
  if (row.activation == Activation::kGeluTanh) config["hidden_activation"] = enum_name(spec.activation);
  if (row.local_theta > 0) config["rope_local_base_freq"] = spec.local_rope.value().theta;
  if (row.has_windows()) config["sliding_window"] = spec.window > 0 ? Json(spec.window) : Json();
  if (row.windows == Windows::kOptIn && spec.window > 0) config["use_sliding_window"] = true;
  const bool has_types = spec.window > 0 && row.windows != Windows::kAll && row.windows != Windows::kTyped;
  if (has_types || row.needs("layer_types"))
    for (size_t i = 0; i < static_cast<size_t>(spec.num_layers); ++i)
      config["layer_types"].push_back(ModelSpec::is_marked(spec.slides, i) ? "sliding_attention" : "full_attention");
  if (row.no_rope == NoRope::kListed) {
    Json rope_flags = Json::array();
    for (const char lacks_rope : spec.no_rope) rope_flags.push_back(lacks_rope ? 0 : 1);
    config["no_rope_layers"] = rope_flags;
  }
  if (row.multipliers) {
    config["embedding_multiplier"] = spec.embedding_scale;
    config["residual_multiplier"] = spec.branch_scale;
    config["attention_multiplier"] = spec.score_scale;
    config["logits_scaling"] = 1 / spec.logit_scale;
  }
  if (row.query_scalar) config["query_pre_attn_scalar"] = 1 / (spec.score_scale * spec.score_scale);
  if (row.usual_score_cap > 0 || spec.score_cap > 0) config["attn_logit_softcapping"] = cap(spec.score_cap);
  if (row.usual_logit_cap > 0 || spec.logit_cap > 0) config["final_logit_softcapping"] = cap(spec.logit_cap);
}

}  // namespace

Json hf_config(const ModelSpec& spec) {
  const Architecture& row = *spec.architecture;
  Json config = {{"architectures", {row.causal_class}},
                 {"model_type", row.name},
                 {"vocab_size", spec.vocab_size},
                 {"hidden_size", spec.hidden_size},
                 {"intermediate_size", spec.intermediate_size},
                 {"num_hidden_layers", spec.num_layers},
                 {"num_attention_heads", spec.num_heads},
                 {"num_key_value_heads", spec.num_kv_heads},
                 {"head_dim", spec.head_dim},
                 {"hidden_act", enum_name(spec.activation)},
                 {"max_position_embeddings", spec.most_positions()},
                 {"rms_norm_eps", spec.rms_norm_eps},
                 {"tie_word_embeddings", spec.tied_head}};
  const auto write_bias = [&](Bias bias, const char* key, bool is_there) {
    if (bias == Bias::kByConfig || bias == Bias::kUsually) config[key] = is_there;
  };
  write_bias(row.o_bias, row.bias_keys.o, spec.o_bias);
  write_bias(row.mlp_bias, row.bias_keys.mlp, spec.mlp_bias);
  write_bias(row.qkv_bias, row.bias_keys.qkv, spec.qkv_bias);
  write_rope(spec.rope, spec.latent ? spec.latent->rotated_dim : spec.head_dim, config);
  Json full_rope = config.value("rope_scaling", Json{{"rope_type", "default"}});
  full_rope["rope_theta"] = spec.rope.theta;
  if (row.local_theta < 0 || (row.needs("rope_parameters") && spec.local_rope))  // rope_theta is not all layers'
    config["rope_parameters"] = {
        {"full_attention", full_rope},
        {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", spec.local_rope.value().theta}}}};
  else if (row.needs("rope_parameters"))
    config["rope_parameters"] = full_rope;
  if (row.needs("rope_parameters")) config.erase("rope_scaling");
  write_features(spec, config);
  if (spec.full_heads) write_full_heads(spec, config);
  if (spec.latent) write_latent(spec, config);
  write_mixture(spec, config);
  if (spec.delta) write_delta(spec, config);
  if (spec.trains_mtp) config[row.mtp.value().count_key] = 1;
  return config;
}

std::vector<Rope> ModelSpec::ropes() const {
  std::vector<Rope> all = {rope};
  if (local_rope) all.push_back(*local_rope);
  for (Rope& one : all)
    if (one.dim == 0) one.dim = head_dim;
  return all;
}

}  // namespace roll
