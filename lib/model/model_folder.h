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

/// Sentences for users about a model's folder, or its adapters' model's: which of its files and keys are read where
/// they contradict each other, and which are not. UserError: read_spec()'s and HfFolder::open()'s.
std::vector<std::string> folder_notes(const std::filesystem::path& folder);

/// The same of keys of a config.json, of which `spec` was made, that models of its architecture do not obey.
std::vector<std::string> ignored_keys(const Json& config, const std::string& origin, const ModelSpec& spec);

/// The config.json of such a model, which says that head and embedding are two where adapters untie them.
Json config_of(const HfFolder& folder, const ModelSpec& spec);

/// Whether the folder's weights, or its adapters, give values: they have a head of such a model.
bool has_value_head(const std::filesystem::path& folder, const Architectures& known = architectures());

/// A folder's spec where it is trained with `lora`: the folder's own adapters, or new ones. UserError: the model has no
/// such products; the folder's adapters are others.
ModelSpec with_adapters(ModelSpec spec, const std::optional<LoraSpec>& lora, const std::string& origin);

/// The files that travel with the weights: the folder's own, where it has a tokenizer, else its model's.
Companions companions_of(const std::filesystem::path& folder);

}  // namespace roll
