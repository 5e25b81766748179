// Finds the folders of base model and tokenizer for a folder that holds only adapters (LoRA weights in the format of
// Hugging Face's PEFT). Depends on no tensor library.
#pragma once

#include <filesystem>

#include "base/json.h"

namespace roll {

inline constexpr const char* kPeftConfigFile = "adapter_config.json";

/// Returns true if the folder has an adapter_config.json.
bool is_peft_folder(const std::filesystem::path& folder);

/// Returns the content of adapter_config.json. Throws UserError if it is missing, is not a JSON object, or describes
/// adapters other than LoRA.
Json read_peft_config(const std::filesystem::path& folder);

/// Returns `folder` itself, unless it holds adapters: then the folder of the model that adapter_config.json names (a
/// path or a Hub name, see hub_cache.h). Throws UserError if it names no model, or one that is not on this machine or
/// that holds adapters itself.
std::filesystem::path base_folder(const std::filesystem::path& folder);

/// Returns the folder that holds tokenizer and chat template: `folder` if it has a tokenizer.json, else base_folder().
std::filesystem::path tokenizer_folder(const std::filesystem::path& folder);

}  // namespace roll
