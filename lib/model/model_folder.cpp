#include "model/model_folder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "model/peft_config.h"
#include "model/unknown_architecture.h"
#include "model/weights.h"

namespace roll {

namespace {

/// Refuses what adapters of experts, and of MLPs beside them, do not support: PEFT adapts parameters there instead of
/// modules (peft_config.cpp). Routers never have adapters, whatever the targets are.
void check_expert_adapters(const ModelSpec& spec, const LoraSpec& lora) {
  if (lora.quantise_base)
    throw user_error("quantise_base = {}: roll does not quantise the weights of experts; leave it out",
                     enum_name(*lora.quantise_base));
  const std::vector<AdaptedLinear> products = adapted_linears(spec);
  const auto adapts = [&](const std::string& name) {
    return std::ranges::any_of(products,
                               [&](const AdaptedLinear& p) { return p.is_expert && last_part(p.name) == name; });
  };
  const WeightNames& names = spec.architecture->weights;
  const bool has_known_names = names.expert_gate == last_part(names.gate) &&
                               names.stacked_gate_up.ends_with("experts.gate_up_proj") &&
                               !spec.architecture->weaves_experts;
  if (!has_known_names && std::ranges::any_of(products, &AdaptedLinear::is_expert))
    throw user_error(
        "lora_target: adapters of experts are not supported in {} models; name other layers, such as q_proj, k_proj, "
        "v_proj and o_proj",
        spec.architecture->name);
  const std::string gate = last_part(names.gate), up = last_part(names.up);
  if (adapts(gate) != adapts(up))
    throw user_error(
        "lora_target = {}: PEFT treats gate_proj and up_proj of experts as one weight, so both or neither have "
        "adapters; name {}, too",
        adapts(gate) ? gate : up, adapts(gate) ? up : gate);
  if (std::ranges::none_of(products, &AdaptedLinear::is_in_mlp)) return;
  if (lora.use_dora)
    throw user_error(
        "use_dora = true: DoRA is not supported for experts and the MLPs beside them; leave out use_dora, or leave "
        "these layers out of lora_target (all-linear includes them)");
  if (lora.dropout > 0)
    throw user_error(
        "lora_dropout = {:g}: dropout is not supported for experts and the MLPs beside them; set it to 0, or leave "
        "these layers out of lora_target (all-linear includes them)",
        lora.dropout);
}

/// True if the folder has a head that differs from its embedding: then transformers does not tie them, whatever
/// config.json says.
bool has_own_head(const HfFolder& folder, const ModelSpec& spec) {
  const std::string head = lm_head_parameter(spec).name, embedding = backbone_parameters(spec).front().name;
  return folder.find(head) && folder.find(embedding) && !at::equal(folder.read(head), folder.read(embedding));
}

/// Missing or unreadable weights are no error here; the code that needs them reports them.
bool unties_head(const std::filesystem::path& folder, const ModelSpec& spec) {
  try {
    return spec.tied_head && has_own_head(open_renamed(folder, *spec.architecture), spec);
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace

ModelSpec read_spec(const std::filesystem::path& folder, const Architectures& known) {
  const std::filesystem::path base = base_folder(folder);
  const Json config = HfFolder::read_config(base);
  check_architecture(config, base, known);
  ModelSpec spec = parse_spec(config, (base / "config.json").string(), known);
  spec.unties_head = unties_head(base, spec);
  spec.tied_head = spec.tied_head && !spec.unties_head;
  if (is_peft_folder(folder)) read_adapters(folder, spec);
  return spec;
}

bool has_value_head(const std::filesystem::path& folder, const Architectures& known) {
  const ModelSpec spec = read_spec(folder, known);
  const std::string head = value_head_parameters(spec).front().name;
  return open_renamed(folder, *spec.architecture).find(head) ||
         (is_peft_folder(folder) && PeftFolder(folder).find(head));
}

ModelSpec with_adapters(ModelSpec spec, const std::optional<LoraSpec>& lora, const std::string& origin) {
  if (!lora) return spec;
  const std::optional<LoraSpec> folder_lora = std::exchange(spec.lora, lora);
  if (spec.mixture) check_expert_adapters(spec, *lora);
  if (spec.bitsandbytes && lora->quantise_base && lora->quantise_base != spec.quantised)
    throw user_error("quantise_base = {}: the weights of {} are quantised already, to {}; remove it",
                     enum_name(*lora->quantise_base), origin, enum_name(*spec.quantised));
  if (!spec.bitsandbytes) spec.quantised = lora->quantise_base;
  for (const ParameterShape& parameter : backbone_parameters(spec))
    if (parameter.quantised == Quantisation::kNf4 && parameter.shape[1] % 2 != 0)
      throw user_error(
          "quantise_base = nf4: {} has {} inputs, an odd number, but nf4 stores two inputs per byte; use int8",
          parameter.name, parameter.shape[1]);
  const WeightNames& names = spec.architecture->weights;
  for (const std::string& target : lora->targets)
    if (target_names(spec, {target}).empty())
      throw user_error("lora_target = {}: the model has no such linear layer; it has {}", target,
                       fmt::join(target_names(spec, {}), ", "));
  for (const std::string& module : lora->saved) {
    const LoraSpec alone{.saved = {module}};
    if (alone.saves(names.value_head)) continue;  // always trained
    if (!alone.saves(names.lm_head) && !alone.saves(names.embedding))
      throw user_error("additional_target = {}: only {} and {} can be trained in full beside adapters", module,
                       names.lm_head, names.embedding);
    if (spec.tied_head)
      throw user_error("additional_target = {}: the model's head is its embedding (tie_word_embeddings); leave it out",
                       module);
  }
  if (!folder_lora) return spec;
  // Training continues the folder's adapters, so the configuration must describe the same ones.
  const auto named = [](const ModelSpec& model_spec, const LoraSpec& adapters) {
    LoraSpec all = adapters;
    all.targets = target_names(model_spec, adapters.targets);
    std::erase_if(all.saved, [&](const std::string& module) {
      return LoraSpec{.saved = {module}}.saves(model_spec.architecture->weights.value_head);
    });
    return all;
  };
  if (!named(spec, *folder_lora).has_same_shape(named(spec, *lora)))
    throw user_error("{}: the folder's adapters are {}, but the configuration's are {}; make the keys lora_* equal",
                     origin, describe(*folder_lora), describe(*lora));
  return spec;
}

std::vector<std::string> folder_notes(const std::filesystem::path& folder) {
  const ModelSpec spec = read_spec(folder);
  const HfFolder opened = open_weights(folder, spec);
  std::vector<std::string> notes = opened.notes();
  const std::string head = lm_head_parameter(spec).name;
  if (spec.unties_head && has_own_head(opened, spec))
    notes.push_back(
        fmt::format("{}: {} differs from the embedding, so the head is not tied to it, as in transformers, although "
                    "config.json says tie_word_embeddings = true",
                    opened.tensor_file(head), head));
  for (const std::string& note : ignored_keys(opened.config(), (opened.path() / "config.json").string(), spec))
    notes.push_back(note);
  return notes;
}

Json make_hf_config(const HfFolder& folder, const ModelSpec& spec) {
  Json config = folder.config();
  const char* const key = "tie_word_embeddings";
  if (!spec.unties_head) return config;
  if (config.contains("text_config") && config["text_config"].contains(key)) config["text_config"][key] = false;
  config[key] = false;
  return config;
}

Companions find_companions(const std::filesystem::path& folder) {
  return read_companions(tokenizer_folder(folder));
}

}  // namespace roll
