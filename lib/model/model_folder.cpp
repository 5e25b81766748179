#include "model/model_folder.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace {

/// What PEFT's adapters may have and these have not, where it is not as it is named here.
void refuse_unknown(const PeftFolder& folder) {
  static const Json kKnown = {{"bias", "none"},
                              {"fan_in_fan_out", false},
                              {"lora_bias", false},
                              {"rank_pattern", {}},
                              {"alpha_pattern", {}},
                              {"layers_to_transform", {}},
                              {"layer_replication", {}},
                              {"use_qalora", false},
                              {"target_parameters", {}},
                              {"alora_invocation_tokens", {}},
                              {"trainable_token_indices", {}},
                              {"exclude_modules", {}}};
  for (const auto& [key, plain] : kKnown.items()) {
    const auto found = folder.config().find(key);
    if (found == folder.config().end() || found->is_null() || *found == plain ||
        (!found->is_primitive() && found->empty()))
      continue;
    throw user_error("{}: {} = {}: such adapters are not known here; merge them with peft", folder.config_file(), key,
                     found->dump());
  }
}

/// What a name of a layer's product ends with, of "model.layers.0.self_attn.q_proj".
std::string last_part(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

template <class T>
T lora_value(const PeftFolder& folder, const char* key, T otherwise) {
  const auto found = folder.config().find(key);
  if (found == folder.config().end() || found->is_null()) return otherwise;
  try {
    return found->get<T>();
  } catch (const nlohmann::json::exception&) {
    throw user_error("{}: {} = {}: is not of this key's type", folder.config_file(), key, found->dump());
  }
}

/// Which products have adapters is what the tensors say: target_modules may be a pattern.
LoraSpec lora_in(const PeftFolder& folder) {
  refuse_unknown(folder);
  LoraSpec lora{.rank = lora_value<int64_t>(folder, "r", 8),
                .alpha = lora_value<double>(folder, "lora_alpha", 8),
                .use_dora = lora_value(folder, "use_dora", false),
                .use_rslora = lora_value(folder, "use_rslora", false)};
  if (lora.rank < 1) throw user_error("{}: r = {}: must be at least 1", folder.config_file(), lora.rank);
  std::set<std::string> targets, saved;
  for (const std::string& name : folder.names()) {
    const bool is_target = name.ends_with(kLoraA);
    if (is_target) targets.insert(last_part(name.substr(0, name.size() - std::string_view(kLoraA).size())));
    if (!is_target && name.ends_with(".weight") && !name.ends_with(kLoraB))
      saved.insert(last_part(name.substr(0, name.rfind('.'))));
  }
  lora.targets.assign(targets.begin(), targets.end());
  lora.saved.assign(saved.begin(), saved.end());
  return lora;
}

/// What the names of products with adapters end with.
std::vector<std::string> products_of(const ModelSpec& spec) {
  std::set<std::string> names;
  for (const Layer& layer : spec.layers())
    for_each_part(layer, [&](const auto& part) {
      if constexpr (requires { part.adapter; })
        if (part.adapter.rank > 0) names.insert(last_part(std::string(part.adapted_name())));
    });
  return {names.begin(), names.end()};
}

/// What experts and their adapters have not. Routers have no adapters, whatever the targets are.
void check_expert_adapters(const ModelSpec& spec, const LoraSpec& lora) {
  if (lora.quantise_base)
    throw user_error("quantise_base = {}: weights of experts are not quantised; leave it out",
                     name_of(*lora.quantise_base));
  bool has_some = false;  // the experts that all tokens have among them
  const auto look = [&](const Experts& experts) {
    experts.for_each_part([&](const auto& part) {
      if constexpr (requires { part.adapter; }) has_some |= part.adapter.rank > 0;
    });
  };
  for (const Layer& layer : spec.layers())
    for (const Block& block : layer) {
      if (const auto* experts = std::get_if<Experts>(&block.mixer)) look(*experts);
      if (const auto* both = std::get_if<MlpBesideExperts>(&block.mixer)) look(both->experts);
    }
  if (!has_some) return;
  if (lora.use_dora)
    throw user_error(
        "use_dora = true: adapters of experts are plain ones; leave it out, or their products out of "
        "lora_target (all-linear names them, too)");
  if (lora.dropout > 0)
    throw user_error(
        "lora_dropout = {:g}: adapters of experts have none; set it to 0, or leave their products out of "
        "lora_target (all-linear names them, too)",
        lora.dropout);
}

}  // namespace

ModelSpec read_spec(const std::filesystem::path& folder, const Architectures& known) {
  const std::filesystem::path base = base_folder(folder);
  ModelSpec spec = parse_spec(HfFolder::read_config(base), (base / "config.json").string(), known);
  if (is_peft_folder(folder)) spec.lora = lora_in(PeftFolder(folder));
  return spec;
}

bool has_value_head(const std::filesystem::path& folder, const Architectures& known) {
  const std::string head = value_head_parameters(read_spec(folder, known)).front().name;
  return HfFolder::open(base_folder(folder)).find(head) || (is_peft_folder(folder) && PeftFolder(folder).find(head));
}

ModelSpec with_adapters(ModelSpec spec, const std::optional<LoraSpec>& lora, const std::string& origin) {
  if (!lora) return spec;
  const std::optional<LoraSpec> own = std::exchange(spec.lora, lora);
  if (spec.mixture) check_expert_adapters(spec, *lora);
  if (spec.bitsandbytes && lora->quantise_base && lora->quantise_base != spec.quantised)
    throw user_error("quantise_base = {}: the weights of {} are in {} as they lie there; remove it",
                     name_of(*lora->quantise_base), origin, name_of(*spec.quantised));
  if (!spec.bitsandbytes) spec.quantised = lora->quantise_base;
  for (const ParameterShape& parameter : backbone_parameters(spec))
    if (parameter.quantised == Quantisation::kNf4 && parameter.shape[1] % 2 != 0)
      throw user_error("quantise_base = nf4: {} has {} inputs, and two numbers share a byte; take int8", parameter.name,
                       parameter.shape[1]);
  const WeightNames& names = spec.architecture->weights;
  const auto products_by = [&](const std::vector<std::string>& targets) {
    ModelSpec alone = spec;
    alone.lora->targets = targets;
    return products_of(alone);
  };
  for (const std::string& target : lora->targets)
    if (products_by({target}).empty())
      throw user_error("lora_target = {}: the model has no such product; it has {}", target,
                       fmt::join(products_by({}), ", "));
  for (const std::string& module : lora->saved) {
    const LoraSpec alone{.saved = {module}};
    if (alone.saves(names.value_head)) continue;  // which is trained in any case
    if (!alone.saves(names.lm_head) && !alone.saves(names.embedding))
      throw user_error("additional_target = {}: only {} and {} are trained whole beside adapters", module,
                       names.lm_head, names.embedding);
    if (spec.tied_head)
      throw user_error("additional_target = {}: the model's head is its embedding (tie_word_embeddings); leave it out",
                       module);
  }
  if (!own) return spec;
  // The folder's adapters go on: the configuration must mean the same ones.
  const auto named = [](ModelSpec of, const LoraSpec& by) {
    of.lora = by;
    LoraSpec all = by;
    all.targets = products_of(of);
    std::erase_if(all.saved, [&](const std::string& module) {
      return LoraSpec{.saved = {module}}.saves(of.architecture->weights.value_head);
    });
    return all;
  };
  if (!named(spec, *own).has_shape_of(named(spec, *lora)))
    throw user_error("{}: its adapters are {}, and the configuration's {}; make the keys lora_* equal", origin,
                     describe(*own), describe(*lora));
  return spec;
}

Companions companions_of(const std::filesystem::path& folder) {
  return read_companions(tokenizer_folder(folder));
}

Json peft_config(const ModelSpec& spec, const std::vector<ParameterShape>& parameters,
                 const std::filesystem::path& base, const char* task) {
  const LoraSpec& lora = spec.lora.value();
  std::set<std::string> saved;
  for (const ParameterShape& parameter : trained_of(spec, parameters)) {
    const std::string name = without_saved_infix(parameter.name);
    if (name.ends_with(".weight") && !name.ends_with(kLoraA) && !name.ends_with(kLoraB))
      saved.insert(last_part(name.substr(0, name.rfind('.'))));
  }
  Json alpha = lora.alpha;
  if (lora.alpha == std::floor(lora.alpha)) alpha = static_cast<int64_t>(lora.alpha);
  return {{"peft_type", "LORA"},
          {"task_type", task},
          {"base_model_name_or_path", std::filesystem::absolute(base).lexically_normal().string()},
          {"r", lora.rank},
          {"lora_alpha", alpha},
          {"lora_dropout", lora.dropout},
          {"target_modules", products_of(spec)},
          {"modules_to_save", saved.empty() ? Json() : Json(saved)},
          {"bias", "none"},
          {"fan_in_fan_out", false},
          {"init_lora_weights", true},
          {"use_dora", lora.use_dora},
          {"use_rslora", lora.use_rslora},
          {"inference_mode", true}};
}

}  // namespace roll
