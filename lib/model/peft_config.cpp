#include "model/peft_config.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "checkpoint/gguf/gguf_folder.h"

namespace roll {

std::string last_part(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

namespace {

std::string without_last_part(const std::string& name) {
  return name.substr(0, name.rfind('.'));
}

/// Returns "mlp.up_proj" for "model.layers.0.mlp.up_proj"; a name in no layer stays.
std::string within_layer(const ModelSpec& spec, const std::string& name) {
  const std::string& begin = spec.architecture->weights.layer;
  return name.starts_with(begin) ? name.substr(name.find('.', begin.size()) + 1) : name;
}

/// Refuses values in PEFT's file by which adapters compute differently.
void refuse_unknown(const PeftFolder& folder) {
  // Keys that are read here, do not change what trained adapters compute, or only choose products.
  static const std::set<std::string> kHarmless = {"alpha_pattern",
                                                  "auto_mapping",
                                                  "base_model_name_or_path",
                                                  "corda_config",
                                                  "ensure_weight_tying",
                                                  "eva_config",
                                                  "exclude_modules",
                                                  "inference_mode",
                                                  "init_lora_weights",
                                                  "layers_pattern",
                                                  "layers_to_transform",
                                                  "loftq_config",
                                                  "lora_alpha",
                                                  "lora_dropout",
                                                  "lora_ga_config",
                                                  "modules_to_save",
                                                  "peft_type",
                                                  "peft_version",
                                                  "r",
                                                  "rank_pattern",
                                                  "revision",
                                                  "runtime_config",
                                                  "target_modules",
                                                  "target_parameters",
                                                  "task_type",
                                                  "use_dora",
                                                  "use_rslora"};
  const auto refuse = [&](const std::string& key, const Json& value) {
    throw user_error("{}: {} = {}: roll does not support such adapters; merge them with peft", folder.config_file(),
                     key, value.dump());
  };
  for (const auto& [key, value] : folder.config().items()) {
    const bool is_switched_on = value == true || (value.is_structured() && !value.empty());
    if ((is_switched_on && !kHarmless.contains(key)) || (key == "bias" && value != "none" && !value.is_null()))
      refuse(key, value);
    // Adapters initialised from the weights: PEFT subtracts their initial product from the base when it loads them.
    if (key == "init_lora_weights" && value.is_string())
      for (const char* kind : {"pissa", "olora", "corda", "loftq"})
        if (value.get<std::string>().starts_with(kind)) refuse(key, value);
  }
}

template <class T>
T lora_value(const PeftFolder& folder, const char* key, T absent) {
  const auto found = folder.config().find(key);
  if (found == folder.config().end() || found->is_null()) return absent;
  try {
    return found->get<T>();
  } catch (const nlohmann::json::exception&) {
    throw user_error("{}: {} = {}: is not of this key's type", folder.config_file(), key, found->dump());
  }
}

/// Returns the alpha of experts' gates and ups: PEFT has one adapter of twice the rank for both, and its scale must not
/// change.
double gate_up_alpha(const LoraSpec& lora) {
  return lora.alpha * (lora.use_rslora ? std::sqrt(2.0) : 2.0);
}

/// Refuses ranks and alphas of single products, except those of experts' gates and ups.
void check_patterns(const PeftFolder& folder, const LoraSpec& lora) {
  const auto check = [&](const char* key, double expected) {
    const auto found = folder.config().find(key);
    if (found == folder.config().end() || !found->is_object()) return;
    for (const auto& [pattern, value] : found->items())
      if (!pattern.ends_with("gate_up_proj") || !value.is_number() ||
          std::abs(value.get<double>() - expected) > 1e-9 * expected)
        throw user_error("{}: {} = {}: roll does not support such adapters; merge them with peft", folder.config_file(),
                         key, found->dump());
  };
  check("rank_pattern", 2.0 * static_cast<double>(lora.rank));
  check("alpha_pattern", gate_up_alpha(lora));
}

/// True if the file's copies of embedding and head are additional to the base's: modules_to_save names them. PEFT also
/// writes copies that replace the base's (save_embedding_layers), or that are tied themselves.
bool unties(const PeftFolder& folder, const WeightNames& names) {
  if (lora_value(folder, "ensure_weight_tying", false)) return false;
  const LoraSpec named{.saved = lora_value<std::vector<std::string>>(folder, "modules_to_save", {})};
  return named.saves(names.embedding) || named.saves(names.lm_head);
}

/// Returns the shortest names of `adapted` that match no other products of `all`.
std::vector<std::string> shortest(const std::vector<AdaptedLinear>& adapted, const std::vector<AdaptedLinear>& all) {
  std::set<std::string> adapted_names, shared_endings, shortened;
  for (const AdaptedLinear& product : adapted) adapted_names.insert(product.name);
  for (const AdaptedLinear& product : all)
    if (!adapted_names.contains(product.name)) shared_endings.insert(last_part(product.name));
  for (const std::string& name : adapted_names)
    shortened.insert(shared_endings.contains(last_part(name)) ? name : last_part(name));
  return {shortened.begin(), shortened.end()};
}

ModelSpec with_targets(ModelSpec spec, const std::vector<std::string>& targets) {
  if (!spec.lora) spec.lora.emplace();
  spec.lora->targets = targets;
  return spec;
}

Json integer_if_whole(double number) {
  return number == std::floor(number) ? Json(static_cast<int64_t>(number)) : Json(number);
}

/// Returns PEFT's target_modules and target_parameters of the adapters.
Json make_targets(const ModelSpec& spec) {
  std::vector<AdaptedLinear> modules;
  std::set<std::string> parameters, experts;
  for (const AdaptedLinear& product : adapted_linears(spec)) {
    const std::string last = last_part(product.name);
    if (!spec.mixture || !product.is_in_mlp) {
      modules.push_back(product);
    } else if (!product.is_expert) {
      parameters.insert(product.name + ".weight");
    } else {
      const std::string module = without_last_part(without_last_part(product.name));
      parameters.insert(module + ".down_proj");  // wraps gates and ups, whose names PEFT would else change
      if (last != "down_proj") parameters.insert(module + ".gate_up_proj");
      if (!spec.architecture->stacks_experts) experts.insert(product.name);  // experts are modules in transformers 4
    }
  }
  std::vector<std::string> names = shortest(modules, adapted_linears(with_targets(spec, {})));
  names.insert(names.end(), experts.begin(), experts.end());
  Json targets = {{"target_modules", names}};
  if (parameters.empty()) return targets;
  targets["target_parameters"] = parameters;
  for (const std::string& parameter : parameters) {
    if (!parameter.ends_with(".gate_up_proj")) continue;
    const std::string pattern = R"(.*\.experts\.gate_up_proj)";
    targets["rank_pattern"] = {{pattern, 2 * spec.lora->rank}};
    targets["alpha_pattern"] = {{pattern, integer_if_whole(gate_up_alpha(*spec.lora))}};
  }
  return targets;
}

/// Returns a pattern of other parts' modules (vision, say), whose names may end like the language model's.
std::string other_parts(const Architecture& row) {
  std::string names;
  for (const std::string& begin : row.kept)
    for (const char c : (names.empty() ? "" : "|") + begin) names += c == '.' ? R"(\.)" : std::string(1, c);
  return fmt::format("({}).*", names);
}

}  // namespace

std::vector<AdaptedLinear> adapted_linears(const ModelSpec& spec) {
  const WeightNames& names = spec.architecture->weights;
  const std::set<std::string> mlp_parts = {last_part(names.gate), last_part(names.up), last_part(names.down),
                                           names.expert_gate,     names.expert_up,     names.expert_down};
  std::set<AdaptedLinear> found;
  const auto add_if_adapted = [&](const auto& part) {
    if constexpr (requires { part.adapter; })
      if (part.adapter.rank > 0) {
        const std::string name(part.adapted_name());
        found.insert({name, part.expert.has_value(), mlp_parts.contains(last_part(name))});
      }
  };
  for (const Layer& layer : spec.layers()) for_each_part(layer, add_if_adapted);
  if (spec.layer_inputs) add_if_adapted(input_projection(spec));
  return {found.begin(), found.end()};
}

std::vector<std::string> target_names(ModelSpec spec, const std::vector<std::string>& targets) {
  return shortest(adapted_linears(with_targets(spec, targets)), adapted_linears(with_targets(spec, {})));
}

void read_adapters(const std::filesystem::path& path, ModelSpec& spec) {
  const PeftFolder folder(path);
  refuse_unknown(folder);
  LoraSpec lora{.rank = lora_value<int64_t>(folder, "r", 8),
                .alpha = lora_value<double>(folder, "lora_alpha", 8),
                .use_dora = lora_value(folder, "use_dora", false),
                .use_rslora = lora_value(folder, "use_rslora", false)};
  if (lora.rank < 1) throw user_error("{}: r = {}: must be at least 1", folder.config_file(), lora.rank);
  check_patterns(folder, lora);
  const WeightNames& names = spec.architecture->weights;
  spec.unties_head = spec.unties_head || (spec.tied_head && unties(folder, names));
  spec.tied_head = spec.tied_head && !spec.unties_head;
  std::vector<AdaptedLinear> targets;  // products with adapters, by the tensors' names
  std::set<std::string> saved;
  for (const std::string& name : folder.names()) {
    const bool is_target = name.ends_with(kLoraA);
    if (is_target)
      targets.push_back({within_layer(spec, name.substr(0, name.size() - std::string_view(kLoraA).size()))});
    const std::string module = without_last_part(name);
    if (!is_target && name.ends_with(".weight") && !name.ends_with(kLoraB)) saved.insert(last_part(module));
  }
  lora.targets = shortest(targets, adapted_linears(with_targets(spec, {})));
  lora.saved.assign(saved.begin(), saved.end());
  spec.lora = lora;
}

Json peft_config(const ModelSpec& spec, const std::vector<ParameterShape>& parameters,
                 const std::filesystem::path& base, const char* task) {
  const LoraSpec& lora = spec.lora.value();
  std::set<std::string> saved;
  for (const ParameterShape& parameter : select_trained(spec, parameters)) {
    const std::string name = without_saved_infix(parameter.name);
    if (name.ends_with(".weight") && !name.ends_with(kLoraA) && !name.ends_with(kLoraB))
      saved.insert(last_part(without_last_part(name)));
  }
  Json config = {{"peft_type", "LORA"},
                 {"task_type", task},
                 {"base_model_name_or_path",
                  std::filesystem::absolute(gguf_file_in(base).value_or(base)).lexically_normal().string()},
                 {"r", lora.rank},
                 {"lora_alpha", integer_if_whole(lora.alpha)},
                 {"lora_dropout", lora.dropout},
                 {"modules_to_save", saved.empty() ? Json() : Json(saved)},
                 {"bias", "none"},
                 {"fan_in_fan_out", false},
                 {"init_lora_weights", true},
                 {"use_dora", lora.use_dora},
                 {"use_rslora", lora.use_rslora},
                 {"inference_mode", true}};
  config.update(make_targets(spec));
  if (spec.architecture->is_multimodal) config["exclude_modules"] = other_parts(*spec.architecture);
  return config;
}

}  // namespace roll
