// Finds the base model's folder for a folder that holds only PEFT adapters. Needs no tensors.
#pragma once

#include <filesystem>

#include "base/json.h"

namespace roll {

inline constexpr const char* kPeftConfigFile = "adapter_config.json";

bool is_peft_folder(const std::filesystem::path& folder);

/// Reads adapter_config.json of a folder of adapters. UserError: it is missing, no JSON, or its adapters are not LoRA.
Json read_peft_config(const std::filesystem::path& folder);

/// Returns the base model's folder for adapters, else `folder` itself. UserError: adapter_config.json names no model,
/// one that is missing here, or one that holds adapters itself.
std::filesystem::path base_folder(const std::filesystem::path& folder);

/// Returns the folder of tokenizer and chat template: `folder`, or its base model's if it has no tokenizer.json.
std::filesystem::path tokenizer_folder(const std::filesystem::path& folder);

}  // namespace roll
