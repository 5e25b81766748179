// Reads PEFT's adapter_config.json for a model, and makes one by which PEFT adapts the same linear layers. PEFT looks
// for modules by the ends of their names. In a mixture of experts it takes targets called gate_proj, up_proj and
// down_proj for the experts' alone, whatever precedes them (PEFT 0.21, transformers 5). For models with experts the
// file therefore names the weights of all MLPs as target_parameters.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/peft_folder.h"
#include "model/spec.h"

namespace roll {

/// A linear layer with an adapter: its name within the layer ("mlp.experts.3.up_proj"), the same for all layers that
/// have it; or its full name if it is in no layer.
struct AdaptedLinear {
  std::string name;
  bool is_expert = false;
  bool is_in_mlp = false;  // in an MLP, including experts and shared experts

  auto operator<=>(const AdaptedLinear&) const = default;
};

/// Returns the linear layers with adapters (spec.lora): each name once, sorted.
std::vector<AdaptedLinear> adapted_linears(const ModelSpec& spec);

/// Returns "up_proj" for "model.layers.0.mlp.up_proj".
std::string last_part(const std::string& name);

/// Returns short names of the linear layers that `targets` (LoraSpec::targets) adapt. A short name is the last part
/// ("up_proj") if all linear layers with that last part are adapted, else the name within the layer
/// ("mlp.shared_expert.up_proj").
std::vector<std::string> target_names(ModelSpec spec, const std::vector<std::string>& targets);

/// Sets spec.lora to the adapters of a PEFT folder. If modules_to_save names the embedding or head of a tied model,
/// they become untied (spec.tied_head, spec.unties_head), as in PEFT. Throws UserError if the kind of adapters is not
/// supported.
void read_adapters(const std::filesystem::path& folder, ModelSpec& spec);

/// Returns the content of adapter_config.json. `parameters`: all of the model; `base`: folder of the base model;
/// `task`: PEFT's task_type ("CAUSAL_LM"). spec.lora must be set.
Json peft_config(const ModelSpec& spec, const std::vector<ParameterShape>& parameters,
                 const std::filesystem::path& base, const char* task);

}  // namespace roll
