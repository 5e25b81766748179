#include "model/spec.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"

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

  /// A whole number of `least` to `most`.
  int64_t count(const char* key, int64_t most, std::optional<int64_t> absent = {}, int64_t least = 1) const {
    const Json* value = find(key);
    if (!value && absent) return *absent;
    const std::string rule = fmt::format("a whole number of {} to {} is needed", least, most);
    if (!value) throw user_error("{}: {}: missing; {}", origin_, key, rule);
    const bool is_count = value->is_number_integer() && value->get<double>() >= static_cast<double>(least) &&
                          value->get<double>() <= static_cast<double>(most);
    if (!is_count) fail(key, rule);
    return value->get<int64_t>();
  }

  double positive(const char* key, std::optional<double> absent = {}) const {
    const Json* value = find(key);
    if (!value && absent) return *absent;
    const char* const rule = "a number above 0 is needed";
    if (!value) throw user_error("{}: {}: missing; {}", origin_, key, rule);
    if (!value->is_number() || !(value->get<double>() > 0)) fail(key, rule);
    return value->get<double>();
  }

  bool flag(const char* key, bool absent = false) const {
    const Json* value = find(key);
    if (value && !value->is_boolean()) fail(key, "true or false is needed");
    return value ? value->get<bool>() : absent;
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
  const Llama3Scaling scaling{
      .factor = rope.positive("factor"),
      .low_freq_factor = rope.positive("low_freq_factor"),
      .high_freq_factor = rope.positive("high_freq_factor"),
      .original_max_positions = rope.count("original_max_position_embeddings", SizeLimits::kPositions)};
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

/// transformers 5 writes Qwen3-MoE's num_experts as num_local_experts.
MixtureSpec read_mixture(const ConfigReader& config, const ModelSpec& spec) {
  const char* const number = config.find("num_experts") ? "num_experts" : "num_local_experts";
  MixtureSpec mixture;
  mixture.num_experts = config.count(config.find(number) ? number : "num_experts", SizeLimits::kExperts);
  mixture.chosen = config.count("num_experts_per_tok", SizeLimits::kExperts);
  if (mixture.chosen > mixture.num_experts)
    config.fail("num_experts_per_tok", fmt::format("must be at most {} ({})", number, mixture.num_experts));
  mixture.inner = config.count("moe_intermediate_size", SizeLimits::kIntermediate);
  mixture.renormalises = config.flag("norm_topk_prob");
  mixture.sparse_step = config.count("decoder_sparse_step", SizeLimits::kLayers, 1);
  if (spec.architecture->has_shared_expert)
    mixture.shared_inner = config.count("shared_expert_intermediate_size", SizeLimits::kIntermediate);
  if (const Json* dense = config.find("mlp_only_layers")) {
    const auto is_layer = [&](const Json& layer) {
      return layer.is_number_integer() && layer.get<int64_t>() >= 0 && layer.get<int64_t>() < spec.num_layers;
    };
    if (!dense->is_array() || !std::ranges::all_of(*dense, is_layer))
      config.fail("mlp_only_layers", fmt::format("a list of whole numbers below {} is needed", spec.num_layers));
    mixture.dense_layers = dense->get<std::vector<int64_t>>();
  }
  return mixture;
}

/// A window changes results only where layers use it.
void refuse_sliding_window(const ConfigReader& config, const ModelSpec& spec) {
  const char* rule =
      "sliding-window attention is not supported; set use_sliding_window to false if you mean full attention";
  if (const Json* types = config.find("layer_types"))
    for (const Json& type : *types)
      if (type != "full_attention") config.fail("layer_types", rule);
  const bool some_layer_slides = config.count("max_window_layers", SizeLimits::kLayers, 28, 0) < spec.num_layers;
  if (config.flag("use_sliding_window") && config.find("sliding_window") && some_layer_slides)
    config.fail("use_sliding_window", rule);
}

void refuse_unknown_maths(const ConfigReader& config) {
  if (config.text("hidden_act", "silu") != "silu") config.fail("hidden_act", "only silu is supported");
  const Json* dropout = config.find("attention_dropout");
  if (dropout && *dropout != 0) config.fail("attention_dropout", "only 0 is supported");
  if (config.find("quantization_config"))
    config.fail("quantization_config", "quantized weights are not read; give the model that was not quantized");
}

void read_sizes(const ConfigReader& config, ModelSpec& spec) {
  spec.vocab_size = config.count("vocab_size", SizeLimits::kVocab);
  spec.hidden_size = config.count("hidden_size", SizeLimits::kHidden);
  spec.intermediate_size = config.count("intermediate_size", SizeLimits::kIntermediate);
  spec.num_layers = config.count("num_hidden_layers", SizeLimits::kLayers);
  spec.num_heads = config.count("num_attention_heads", SizeLimits::kHeads);
  spec.num_kv_heads = config.count("num_key_value_heads", SizeLimits::kHeads, spec.num_heads);
  spec.max_positions = config.count("max_position_embeddings", SizeLimits::kPositions);
  if (spec.num_heads % spec.num_kv_heads != 0)
    config.fail("num_key_value_heads", fmt::format("must divide num_attention_heads ({})", spec.num_heads));
  const std::optional<int64_t> usual = spec.architecture->head_dim;
  const bool has_head_dim = usual || config.find("head_dim");
  if (!has_head_dim && spec.hidden_size % spec.num_heads != 0)
    config.fail("hidden_size", fmt::format("must be divisible by num_attention_heads ({})", spec.num_heads));
  spec.head_dim =
      has_head_dim ? config.count("head_dim", SizeLimits::kHeadDim, usual) : spec.hidden_size / spec.num_heads;
  if (spec.head_dim % 2 != 0) config.fail("head_dim", "must be even, rotary embeddings turn pairs");
}

}  // namespace

void read_features(const Json& json, const std::string& origin, ModelSpec& spec) {
  const ConfigReader config(json, origin);
  const Architecture& row = *spec.architecture;
  const auto has = [&](Bias bias, const char* key) {
    return bias == Bias::kAlways || (bias == Bias::kByConfig && config.flag(key));
  };
  spec.qk_norm = row.qk_norm;
  spec.qkv_bias = has(row.qkv_bias, "attention_bias") && config.flag("qkv_bias", true);
  spec.o_bias = has(row.o_bias, "attention_bias");
  spec.mlp_bias = has(row.mlp_bias, "mlp_bias");
  spec.tied_head = config.flag("tie_word_embeddings", row.tied_head);
}

ModelSpec parse_spec(const Json& json, const std::string& origin, const Architectures& known) {
  const ConfigReader config(json, origin);
  if (!config.find("model_type"))
    throw user_error("{}: model_type: missing; only {} are supported", origin, architecture_list("and", known));
  ModelSpec spec;
  spec.architecture = &find_architecture(config.text("model_type", ""), origin + ": model_type", known);
  read_sizes(config, spec);
  spec.rms_norm_eps = config.positive("rms_norm_eps", 1e-6);
  read_features(json, origin, spec);
  if (spec.architecture->has_experts) spec.mixture = read_mixture(config, spec);
  read_rope(config, spec);
  refuse_sliding_window(config, spec);
  refuse_unknown_maths(config);
  if (const auto size = static_cast<double>(spec.num_parameters()); size > SizeLimits::kParameters)
    throw user_error(
        "{}: describes a model of {:.0e} parameters, more than {:.0e}; check hidden_size, vocab_size and "
        "num_hidden_layers",
        origin, size, SizeLimits::kParameters);
  return spec;
}

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
                 {"hidden_act", "silu"},
                 {"max_position_embeddings", spec.max_positions},
                 {"rms_norm_eps", spec.rms_norm_eps},
                 {"rope_theta", spec.rope_theta},
                 {"tie_word_embeddings", spec.tied_head}};
  if (row.qkv_bias == Bias::kByConfig) config["attention_bias"] = spec.qkv_bias;
  if (row.mlp_bias == Bias::kByConfig) config["mlp_bias"] = spec.mlp_bias;
  if (spec.mixture) {
    const MixtureSpec& mixture = *spec.mixture;
    config.update({{"num_experts", mixture.num_experts},
                   {"num_experts_per_tok", mixture.chosen},
                   {"moe_intermediate_size", mixture.inner},
                   {"norm_topk_prob", mixture.renormalises},
                   {"decoder_sparse_step", mixture.sparse_step},
                   {"mlp_only_layers", mixture.dense_layers}});
    if (mixture.shared_inner > 0) config["shared_expert_intermediate_size"] = mixture.shared_inner;
  }
  if (spec.rope_scaling)
    config["rope_scaling"] = {{"rope_type", "llama3"},
                              {"factor", spec.rope_scaling->factor},
                              {"low_freq_factor", spec.rope_scaling->low_freq_factor},
                              {"high_freq_factor", spec.rope_scaling->high_freq_factor},
                              {"original_max_position_embeddings", spec.rope_scaling->original_max_positions}};
  return config;
}

namespace {

void add(std::vector<ParameterShape>& list, const std::string& prefix, const LinearShape& linear) {
  const std::string name = prefix + std::string(linear.name);
  const bool cuts_rows = linear.cut.dim == 0, cuts_columns = linear.cut.dim == 1;
  list.push_back(
      {name + ".weight", {linear.outputs, linear.inputs}, linear.cut, false, linear.quantised, linear.expert});
  // The bias of a product whose columns are cut is added once, to the sum.
  const Cut of_outputs = cuts_rows ? linear.cut : Cut{};
  if (linear.has_bias) list.push_back({name + ".bias", {linear.outputs}, of_outputs});
  const AdapterShape& adapter = linear.adapter;
  if (adapter.rank == 0) return;
  list.push_back({name + kLoraA, {adapter.rank, linear.inputs}, cuts_columns ? linear.cut : Cut{}, true});
  list.push_back({name + kLoraB, {linear.outputs, adapter.rank}, of_outputs, true});
  if (adapter.has_magnitude) list.push_back({name + kMagnitude, {linear.outputs}, of_outputs, true});
}

void add(std::vector<ParameterShape>& list, const std::string& prefix, const NormShape& norm) {
  list.push_back({prefix + std::string(norm.name) + ".weight", {norm.width}});
}

/// The matrix [V, E] of that name, and its copy where adapters are trained with one.
void add_table(std::vector<ParameterShape>& list, const ModelSpec& spec, const std::string& name) {
  const std::vector<int64_t> shape = {spec.vocab_size, spec.hidden_size};
  list.push_back({name + ".weight", shape, vocabulary_cut(spec)});
  if (spec.lora && spec.lora->saves(name))
    list.push_back({name + kSavedInfix + ".weight", shape, vocabulary_cut(spec), true});
}

/// Of a language model.
std::vector<ParameterShape> head_parameters(const ModelSpec& spec) {
  std::vector<ParameterShape> list;
  add_table(list, spec, spec.architecture->weights.lm_head);
  return list;
}

int64_t count(const std::vector<int64_t>& shape) {
  int64_t product = 1;
  for (const int64_t n : shape) product *= n;
  return product;
}

}  // namespace

std::vector<ParameterShape> stored_shapes(const ParameterShape& parameter) {
  if (!parameter.quantised) return {parameter};
  const int64_t outputs = parameter.shape[0], inputs = parameter.shape[1];
  const Cut& cut = parameter.cut;
  const std::string scales = parameter.name + kScales;
  if (parameter.quantised == Quantisation::kInt8)
    return {{parameter.name, parameter.shape, cut}, {scales, {outputs}, cut.dim == 0 ? cut : Cut{}}};
  const bool has_whole_blocks = inputs % kNf4Block == 0;
  const auto by = [&](int64_t numbers) {  // so many numbers are one
    return cut.dim == 1 ? Cut{.dim = 1, .count = inputs / kNf4Block, .width = kNf4Block / numbers} : cut;
  };
  if (has_whole_blocks)
    return {{parameter.name, {outputs, inputs / 2}, by(2)}, {scales, {outputs, inputs / kNf4Block}, by(kNf4Block)}};
  return {{parameter.name, {outputs, inputs / 2}}, {scales, {(outputs * inputs + kNf4Block - 1) / kNf4Block}}};
}

std::vector<ParameterShape> backbone_parameters(const ModelSpec& spec) {
  const WeightNames& names = spec.architecture->weights;
  const std::vector<Layer> layers = spec.layers();
  std::vector<ParameterShape> list;
  add_table(list, spec, names.embedding);
  for (size_t i = 0; i < layers.size(); ++i)
    for_each_part(layers[i], [&, prefix = layer_prefix(spec, i)](const auto& part) { add(list, prefix, part); });
  add(list, "", NormShape{names.final_norm, spec.hidden_size});
  return list;
}

std::string layer_prefix(const ModelSpec& spec, size_t layer) {
  return fmt::format("{}{}.", spec.architecture->weights.layer, layer);
}

Cut vocabulary_cut(const ModelSpec& spec) {
  return {.dim = 0, .count = spec.vocab_size};
}

ParameterShape lm_head_parameter(const ModelSpec& spec) {
  return head_parameters(spec).front();
}

std::vector<ParameterShape> value_head_parameters(const ModelSpec& spec) {
  std::vector<ParameterShape> list;
  add(list, "", LinearShape{spec.architecture->weights.value_head, 1, spec.hidden_size, /*has_bias=*/true});
  for (ParameterShape& parameter : list) parameter.is_adapter = spec.lora.has_value();
  return list;
}

std::vector<ParameterShape> policy_parameters(const ModelSpec& spec) {
  auto list = backbone_parameters(spec);
  if (!spec.tied_head) std::ranges::move(head_parameters(spec), std::back_inserter(list));
  return list;
}

std::vector<ParameterShape> critic_parameters(const ModelSpec& spec) {
  auto list = backbone_parameters(spec);
  std::ranges::move(value_head_parameters(spec), std::back_inserter(list));
  return list;
}

std::vector<ParameterShape> held_by(std::vector<ParameterShape> parameters, int64_t rank, int64_t size) {
  std::erase_if(parameters, [&](const ParameterShape& p) { return p.expert && p.expert->owner(size) != rank; });
  return parameters;
}

std::vector<ParameterShape> trained_of(const ModelSpec& spec, std::vector<ParameterShape> parameters) {
  if (spec.lora) std::erase_if(parameters, [](const ParameterShape& parameter) { return !parameter.is_adapter; });
  return parameters;
}

int64_t ModelSpec::num_parameters() const {
  int64_t total = 0;
  for (const auto& parameter : policy_parameters(*this))
    if (!parameter.is_adapter) total += count(parameter.shape);
  return total;
}

ForwardFlops::ForwardFlops(const ModelSpec& spec)
    : layers_(cost_of(spec.layers())), head_row_(2.0 * static_cast<double>(spec.vocab_size * spec.hidden_size)) {}

double ForwardFlops::operator()(int64_t length, int64_t head_rows) const {
  const auto n = static_cast<double>(length);
  return layers_.flops * n + layers_.square_flops * n * n + static_cast<double>(head_rows) * head_row_;
}

double ModelSpec::forward_flops(int64_t length, int64_t head_rows) const {
  return ForwardFlops(*this)(length, head_rows);
}

}  // namespace roll
