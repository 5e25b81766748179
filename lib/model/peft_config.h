// Reads PEFT's adapter_config.json for a model, and writes one by which PEFT finds the same products. PEFT looks for
// modules by the ends of their names. In a mixture of experts it takes targets called gate_proj, up_proj and down_proj
// for the experts' alone, whatever precedes them (PEFT 0.21, transformers 5). All MLPs' weights are therefore named as
// target_parameters there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/peft_folder.h"
#include "model/spec.h"

namespace roll {

/// A product with an adapter, by its name within the layer ("mlp.experts.3.up_proj"), or by its full name if in no
/// layer.
struct AdaptedProduct {
  std::string name;
  bool is_expert = false;
  bool is_in_mlp = false;  // in an MLP, including experts and shared experts

  auto operator<=>(const AdaptedProduct&) const = default;
};

/// Returns the products with adapters: each name once, sorted.
std::vector<AdaptedProduct> adapted_products(const ModelSpec& spec);

/// Returns "up_proj" for "model.layers.0.mlp.up_proj".
std::string last_part(const std::string& name);

/// Returns the products that `targets` (LoraSpec::targets) adapt, in as few names as match no others: "q_proj" if all
/// such products have one, else "mlp.shared_expert.up_proj".
std::vector<std::string> target_names(ModelSpec spec, const std::vector<std::string>& targets);

/// Sets the spec's adapters to the folder's. Copies of a tied model's embedding or head, which modules_to_save names,
/// untie it, as in PEFT. UserError: the kind of adapters is not supported.
void read_adapters(const std::filesystem::path& folder, ModelSpec& spec);

/// Returns adapter_config.json. `parameters`: all of the model; `base`: folder of the base model; `task`: PEFT's
/// task_type.
Json peft_config(const ModelSpec& spec, const std::vector<ParameterShape>& parameters,
                 const std::filesystem::path& base, const char* task);

}  // namespace roll
