// Reads the descriptions in a model folder: an HF folder, or a PEFT folder with adapters, whose base model is in
// another folder that adapter_config.json names.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "checkpoint/peft_folder.h"
#include "model/spec.h"

namespace roll {

/// Returns the spec of the folder's model (for a PEFT folder, of its base model with these adapters). Throws UserError
/// as parse_spec() and read_adapters() do, such as for an unsupported model.
ModelSpec read_spec(const std::filesystem::path& folder, const Architectures& known = architectures());

/// Returns notes for users about a model folder, or for a PEFT folder about its base model. They say which of several
/// files or contradicting keys are read, and which keys are ignored. Throws UserError if the folder cannot be read.
std::vector<std::string> folder_notes(const std::filesystem::path& folder);

/// Returns notes about the keys of `config` (a config.json from which `spec` was made, at the path `origin`) that
/// models of this architecture ignore.
std::vector<std::string> ignored_keys(const Json& config, const std::string& origin, const ModelSpec& spec);

/// Returns the folder's config.json; with tie_word_embeddings = false if spec.unties_head is set.
Json make_hf_config(const HfFolder& folder, const ModelSpec& spec);

/// True if the folder's weights, or its adapters, include a value head.
bool has_value_head(const std::filesystem::path& folder, const Architectures& known = architectures());

/// Returns a folder's spec for training the adapters `lora`: the folder's own ones if it has some, else new ones. With
/// a null `lora` returns `spec` unchanged. Throws UserError if the model has no such linear layers or cannot have such
/// adapters, or if the folder's adapters differ from `lora`. `origin`: the folder's path, for messages.
ModelSpec with_adapters(ModelSpec spec, const std::optional<LoraSpec>& lora, const std::string& origin);

/// Reads the files that are copied beside saved weights (tokenizer and the like): from the folder if it has a
/// tokenizer, else from its base model's folder.
Companions find_companions(const std::filesystem::path& folder);

}  // namespace roll
