#include "model/spec.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/nearest.h"

namespace roll {

namespace {

/// Typed look-ups in config.json whose errors name file, key and value. null counts as absent, as in transformers.
class ConfigReader {
 public:
  ConfigReader(const Json& config, std::string origin) : config_(config), origin_(std::move(origin)) {}

  const Json* find(const char* key) const {
    const auto found = config_.find(key);
    return found == config_.end() || found->is_null() ? nullptr : &*found;
  }

  /// A whole number of at least `least`.
  int64_t count(const char* key, std::optional<int64_t> absent = {}, int64_t least = 1) const {
    const Json* value = find(key);
    if (!value && absent) return *absent;
    if (!value) throw user_error("{}: {}: is missing", origin_, key);
    const bool is_count =
        value->is_number_integer() && value->get<double>() >= static_cast<double>(least) && value->get<double>() < 1e12;
    if (!is_count) fail(key, fmt::format("a whole number of at least {} is needed", least));
    return value->get<int64_t>();
  }

  double positive(const char* key, std::optional<double> absent = {}) const {
    const Json* value = find(key);
    if (!value && absent) return *absent;
    if (!value) throw user_error("{}: {}: is missing", origin_, key);
    if (!value->is_number() || !(value->get<double>() > 0)) fail(key, "a number above 0 is needed");
    return value->get<double>();
  }

  bool flag(const char* key) const {
    const Json* value = find(key);
    if (value && !value->is_boolean()) fail(key, "true or false is needed");
    return value && value->get<bool>();
  }

  std::string text(const char* key, const char* absent) const {
    const Json* value = find(key);
    if (value && !value->is_string()) fail(key, "a string is needed");
    return value ? value->get<std::string>() : absent;
  }

  ConfigReader object(const char* key) const {
    const Json* value = find(key);
    if (!value->is_object()) fail(key, "an object is needed");
    return {*value, fmt::format("{}: {}", origin_, key)};
  }

  [[noreturn]] void fail(const char* key, const std::string& rule) const {
    const Json* value = find(key);
    throw user_error("{}: {} = {}: {}", origin_, key, value ? to_line(*value) : "(absent)", rule);
  }

 private:
  const Json& config_;
  std::string origin_;
};

Llama3Scaling read_llama3(const ConfigReader& rope) {
  const Llama3Scaling scaling{.factor = rope.positive("factor"),
                              .low_freq_factor = rope.positive("low_freq_factor"),
                              .high_freq_factor = rope.positive("high_freq_factor"),
                              .original_max_positions = rope.count("original_max_position_embeddings")};
  if (scaling.high_freq_factor <= scaling.low_freq_factor)
    rope.fail("high_freq_factor", "must be above low_freq_factor");
  return scaling;
}

/// Reads the scaling out of `rope_parameters` (transformers 5) or `rope_scaling` (4).
void read_rope_object(const ConfigReader& rope, ModelSpec& spec) {
  spec.rope_theta = rope.positive("rope_theta", spec.rope_theta);
  if (rope.positive("partial_rotary_factor", 1.0) != 1.0) rope.fail("partial_rotary_factor", "only 1 is supported");
  const char* key = rope.find("rope_type") ? "rope_type" : "type";
  const std::string type = rope.text(key, "default");
  if (type == "llama3") spec.rope_scaling = read_llama3(rope);
  if (type != "llama3" && type != "default") rope.fail(key, "only default and llama3 are supported");
}

void read_rope(const ConfigReader& config, ModelSpec& spec) {
  spec.rope_theta = config.positive("rope_theta", 10000.0);
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (config.find(key)) read_rope_object(config.object(key), spec);
}

/// A window changes results only where layers use it.
void refuse_sliding_window(const ConfigReader& config, const ModelSpec& spec) {
  const char* rule =
      "sliding-window attention is not supported; set use_sliding_window to false if you mean full attention";
  if (const Json* types = config.find("layer_types"))
    for (const Json& type : *types)
      if (type != "full_attention") config.fail("layer_types", rule);
  const bool some_layer_slides = config.count("max_window_layers", 28, 0) < spec.num_layers;
  if (config.flag("use_sliding_window") && config.find("sliding_window") && some_layer_slides)
    config.fail("use_sliding_window", rule);
}

void refuse_unknown_maths(const ConfigReader& config) {
  if (config.text("hidden_act", "silu") != "silu") config.fail("hidden_act", "only silu is supported");
  const Json* dropout = config.find("attention_dropout");
  if (dropout && *dropout != 0) config.fail("attention_dropout", "only 0 is supported");
  if (config.find("quantization_config")) config.fail("quantization_config", "quantized weights are not read");
}

void read_sizes(const ConfigReader& config, ModelSpec& spec) {
  spec.vocab_size = config.count("vocab_size");
  spec.hidden_size = config.count("hidden_size");
  spec.intermediate_size = config.count("intermediate_size");
  spec.num_layers = config.count("num_hidden_layers");
  spec.num_heads = config.count("num_attention_heads");
  spec.num_kv_heads = config.count("num_key_value_heads", spec.num_heads);
  spec.max_positions = config.count("max_position_embeddings");
  if (spec.num_heads % spec.num_kv_heads != 0)
    config.fail("num_key_value_heads", fmt::format("must divide num_attention_heads ({})", spec.num_heads));
  const bool has_head_dim = spec.architecture == Architecture::kQwen3 || config.find("head_dim");
  if (!has_head_dim && spec.hidden_size % spec.num_heads != 0)
    config.fail("hidden_size", fmt::format("must be divisible by num_attention_heads ({})", spec.num_heads));
  // transformers' Qwen3 has heads of 128 unless told otherwise, whatever the hidden size.
  spec.head_dim = has_head_dim ? config.count("head_dim", 128) : spec.hidden_size / spec.num_heads;
  if (spec.head_dim % 2 != 0) config.fail("head_dim", "must be even, rotary embeddings turn pairs");
}

void read_biases(const ConfigReader& config, ModelSpec& spec) {
  const bool attention_bias = config.flag("attention_bias");
  spec.qk_norm = spec.architecture == Architecture::kQwen3;
  spec.qkv_bias = spec.architecture == Architecture::kQwen2 || attention_bias;
  spec.o_bias = spec.architecture != Architecture::kQwen2 && attention_bias;
  spec.mlp_bias = spec.architecture == Architecture::kLlama && config.flag("mlp_bias");
}

}  // namespace

std::string architecture_name(Architecture architecture) {
  switch (architecture) {
    case Architecture::kQwen2:
      return "qwen2";
    case Architecture::kQwen3:
      return "qwen3";
    case Architecture::kLlama:
      return "llama";
  }
  throw_bug(__FILE__, __LINE__, "an architecture without a name");
}

Architecture parse_architecture(const std::string& name, const std::string& origin) {
  for (const auto architecture : {Architecture::kQwen2, Architecture::kQwen3, Architecture::kLlama})
    if (name == architecture_name(architecture)) return architecture;
  throw user_error("{} = {}: only qwen2, qwen3 and llama are supported{}", origin, name,
                   did_you_mean(name, {"qwen2", "qwen3", "llama"}));
}

ModelSpec parse_spec(const Json& json, const std::string& origin) {
  const ConfigReader config(json, origin);
  if (!config.find("model_type")) throw user_error("{}: model_type: is missing", origin);
  ModelSpec spec;
  spec.architecture = parse_architecture(config.text("model_type", ""), origin + ": model_type");
  read_sizes(config, spec);
  spec.rms_norm_eps = config.positive("rms_norm_eps", 1e-6);
  spec.tied_head = config.flag("tie_word_embeddings");
  read_biases(config, spec);
  read_rope(config, spec);
  refuse_sliding_window(config, spec);
  refuse_unknown_maths(config);
  return spec;
}

Json hf_config(const ModelSpec& spec) {
  static constexpr const char* kPrefix[] = {"Qwen2", "Qwen3", "Llama"};
  Json config = {{"architectures", {fmt::format("{}ForCausalLM", kPrefix[static_cast<int>(spec.architecture)])}},
                 {"model_type", architecture_name(spec.architecture)},
                 {"vocab_size", spec.vocab_size},
                 {"hidden_size", spec.hidden_size},
                 {"intermediate_size", spec.intermediate_size},
                 {"num_hidden_layers", spec.num_layers},
                 {"num_attention_heads", spec.num_heads},
                 {"num_key_value_heads", spec.num_kv_heads},
                 {"head_dim", spec.head_dim},
                 {"hidden_act", "silu"},
                 {"max_position_embeddings", spec.max_positions},
                 {"rms_norm_eps", spec.rms_norm_eps},
                 {"rope_theta", spec.rope_theta},
                 {"tie_word_embeddings", spec.tied_head}};
  if (spec.architecture != Architecture::kQwen2) config["attention_bias"] = spec.qkv_bias;
  if (spec.architecture == Architecture::kLlama) config["mlp_bias"] = spec.mlp_bias;
  if (spec.rope_scaling)
    config["rope_scaling"] = {{"rope_type", "llama3"},
                              {"factor", spec.rope_scaling->factor},
                              {"low_freq_factor", spec.rope_scaling->low_freq_factor},
                              {"high_freq_factor", spec.rope_scaling->high_freq_factor},
                              {"original_max_position_embeddings", spec.rope_scaling->original_max_positions}};
  return config;
}

namespace {

void add_linear(std::vector<ParameterShape>& list, const std::string& name, int64_t out, int64_t in, bool bias) {
  list.push_back({name + ".weight", {out, in}});
  if (bias) list.push_back({name + ".bias", {out}});
}

void add_layer(std::vector<ParameterShape>& list, const ModelSpec& spec, const std::string& layer) {
  const int64_t q = spec.num_heads * spec.head_dim, kv = spec.num_kv_heads * spec.head_dim;
  add_linear(list, layer + "self_attn.q_proj", q, spec.hidden_size, spec.qkv_bias);
  add_linear(list, layer + "self_attn.k_proj", kv, spec.hidden_size, spec.qkv_bias);
  add_linear(list, layer + "self_attn.v_proj", kv, spec.hidden_size, spec.qkv_bias);
  add_linear(list, layer + "self_attn.o_proj", spec.hidden_size, q, spec.o_bias);
  if (spec.qk_norm) list.push_back({layer + "self_attn.q_norm.weight", {spec.head_dim}});
  if (spec.qk_norm) list.push_back({layer + "self_attn.k_norm.weight", {spec.head_dim}});
  add_linear(list, layer + "mlp.gate_proj", spec.intermediate_size, spec.hidden_size, spec.mlp_bias);
  add_linear(list, layer + "mlp.up_proj", spec.intermediate_size, spec.hidden_size, spec.mlp_bias);
  add_linear(list, layer + "mlp.down_proj", spec.hidden_size, spec.intermediate_size, spec.mlp_bias);
  list.push_back({layer + "input_layernorm.weight", {spec.hidden_size}});
  list.push_back({layer + "post_attention_layernorm.weight", {spec.hidden_size}});
}

int64_t count(const std::vector<int64_t>& shape) {
  int64_t product = 1;
  for (const int64_t n : shape) product *= n;
  return product;
}

}  // namespace

std::vector<ParameterShape> backbone_parameters(const ModelSpec& spec) {
  std::vector<ParameterShape> list = {{"model.embed_tokens.weight", {spec.vocab_size, spec.hidden_size}}};
  for (int64_t i = 0; i < spec.num_layers; ++i) add_layer(list, spec, fmt::format("model.layers.{}.", i));
  list.push_back({"model.norm.weight", {spec.hidden_size}});
  return list;
}

int64_t ModelSpec::num_parameters() const {
  int64_t total = tied_head ? 0 : vocab_size * hidden_size;
  for (const auto& parameter : backbone_parameters(*this)) total += count(parameter.shape);
  return total;
}

double ModelSpec::forward_flops(int64_t length, bool with_lm_head) const {
  const double attention_width = static_cast<double>(num_heads * head_dim);
  const double projections = hidden_size * (2 * attention_width + 2.0 * num_kv_heads * head_dim);
  const double mlp = 3.0 * hidden_size * intermediate_size;
  const double head = with_lm_head ? static_cast<double>(vocab_size) * hidden_size : 0;
  const double linear = 2 * (num_layers * (projections + mlp) + head);
  const double attention = 2 * num_layers * attention_width;  // two products of 2 flops, half of each causal
  const auto n = static_cast<double>(length);
  return linear * n + attention * n * n;
}

}  // namespace roll
