// adapter_config.json and the adapters of a model: what PEFT's file says of them, and what is written so that PEFT
// finds the same products. PEFT looks for modules by the ends of their names. In a mixture of experts it takes targets
// called gate_proj, up_proj and down_proj for the experts' alone, whatever stands before (PEFT 0.21, transformers 5),
// so that there all MLPs' weights are named as target_parameters.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/peft_folder.h"
#include "model/spec.h"

namespace roll {

/// A product with an adapter, by its name within the layer ("mlp.experts.3.up_proj"), or of the model's whole.
struct AdaptedProduct {
  std::string name;
  bool is_expert = false;
  bool is_of_mlp = false;  // an MLP's, experts and what all tokens share included

  auto operator<=>(const AdaptedProduct&) const = default;
};

/// Each name once, sorted.
std::vector<AdaptedProduct> adapted_products(const ModelSpec& spec);

/// "up_proj" of "model.layers.0.mlp.up_proj".
std::string last_part(const std::string& name);

/// The products with adapters by `targets` (LoraSpec::targets), in as few names as mean no others: "q_proj" where all
/// such products have one, else "mlp.shared_expert.up_proj".
std::vector<std::string> target_names(ModelSpec spec, const std::vector<std::string>& targets);

/// Sets the spec's adapters to the folder's. Copies of a tied model's embedding or head, which modules_to_save names,
/// untie it, as in PEFT. UserError: they are of a kind that is not known here.
void read_adapters(const std::filesystem::path& folder, ModelSpec& spec);

/// adapter_config.json. `parameters`: all of the model.
Json peft_config(const ModelSpec& spec, const std::vector<ParameterShape>& parameters,
                 const std::filesystem::path& base, const char* task);

}  // namespace roll
