// What a model's folder describes: HF's, or PEFT's with adapters beside the model of another folder.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "checkpoint/peft_folder.h"
#include "model/spec.h"

namespace roll {

/// parse_spec() of the folder's model, with its adapters, if there are any. UserError.
ModelSpec read_spec(const std::filesystem::path& folder, const Architectures& known = architectures());

/// Whether the folder's weights, or its adapters, give values: they have a head of such a model.
bool has_value_head(const std::filesystem::path& folder, const Architectures& known = architectures());

/// A folder's spec where it is trained with `lora`: the folder's own adapters, or new ones. UserError: the model has no
/// such products; the folder's adapters are others.
ModelSpec with_adapters(ModelSpec spec, const std::optional<LoraSpec>& lora, const std::string& origin);

/// The files that travel with the weights: the folder's own, where it has a tokenizer, else its model's.
Companions companions_of(const std::filesystem::path& folder);

/// adapter_config.json. `parameters`: all of the model.
Json peft_config(const ModelSpec& spec, const std::vector<ParameterShape>& parameters,
                 const std::filesystem::path& base, const char* task);

}  // namespace roll
