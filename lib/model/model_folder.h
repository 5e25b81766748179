// Reads what a model folder describes: an HF folder, or a PEFT folder with adapters for the model of another folder.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "checkpoint/peft_folder.h"
#include "model/spec.h"

namespace roll {

/// Returns parse_spec() of the folder's model, with its adapters if there are any. UserError: as parse_spec() and
/// read_adapters().
ModelSpec read_spec(const std::filesystem::path& folder, const Architectures& known = architectures());

/// Returns notes for users about a model folder, or its adapters' model: which of contradicting files and keys are
/// read, and which keys are ignored. UserError: as read_spec() and HfFolder::open().
std::vector<std::string> folder_notes(const std::filesystem::path& folder);

/// Returns notes about keys of a config.json, from which `spec` was made, that models of its architecture ignore.
std::vector<std::string> ignored_keys(const Json& config, const std::string& origin, const ModelSpec& spec);

/// Returns the model's config.json; it says that head and embedding are separate if adapters untie them.
Json make_hf_config(const HfFolder& folder, const ModelSpec& spec);

/// True if the folder's weights, or its adapters, include a value head.
bool has_value_head(const std::filesystem::path& folder, const Architectures& known = architectures());

/// Returns a folder's spec for training with `lora`: with the folder's own adapters, or new ones. UserError: the model
/// has no such products, or the folder's adapters differ.
ModelSpec with_adapters(ModelSpec spec, const std::optional<LoraSpec>& lora, const std::string& origin);

/// Reads the files that travel with the weights, from the folder if it has a tokenizer, else from its model's folder.
Companions find_companions(const std::filesystem::path& folder);

}  // namespace roll
