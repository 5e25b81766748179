// Which folder a model's own files are in, where a folder may hold adapters of PEFT's alone. Needs no tensors.
#pragma once

#include <filesystem>

#include "base/json.h"

namespace roll {

inline constexpr const char* kPeftConfigFile = "adapter_config.json";

bool is_peft_folder(const std::filesystem::path& folder);

/// Of a folder of adapters. UserError: they are not LoRA's.
Json read_peft_config(const std::filesystem::path& folder);

/// The folder of the model whose adapters `folder` holds; without any itself. UserError: adapter_config.json names
/// none, or one that is not here.
std::filesystem::path base_folder(const std::filesystem::path& folder);

/// Where a model's tokenizer and template lie: in its folder; of adapters without one in their model's.
std::filesystem::path tokenizer_folder(const std::filesystem::path& folder);

}  // namespace roll
