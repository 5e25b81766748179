// Resolves model names to folders. A path stays itself, a run's folder becomes the policy of its latest checkpoint, a
// GGUF file becomes a folder that presents it, and a Hub name (`Qwen/Qwen2.5-7B`) is looked up in the local Hugging
// Face cache. Nothing is ever downloaded.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace roll {

/// Returns the cache of huggingface_hub: HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub.
std::filesystem::path hub_cache();

/// Returns `name` if it is a folder, or the (latest) policy in it if it is a run's or a checkpoint's. For a GGUF file
/// returns the folder that presents it (gguf_folder.h). Otherwise returns the snapshot of `models--Owner--Name` in the
/// cache: refs/main's, or the only one. nullopt: there is none. UserError: as gguf_folder().
std::optional<std::filesystem::path> find_model_folder(const std::string& name);

/// Returns the repository in a data set's name, which may add a folder: OWNER/NAME for OWNER/NAME/FOLDER.
std::string dataset_repository(const std::string& name);

/// Returns the snapshot of a data set in the cache, or a folder in it: `Owner/Name`, `openai/gsm8k/main`. nullopt:
/// there is none.
std::optional<std::filesystem::path> find_dataset_folder(const std::string& name);

/// Like find_model_folder(). UserError "name: ..." or "flag = name: ...": not found; says where it was searched and how
/// to download it.
std::filesystem::path model_folder(const std::string& name, const std::string& flag = "");

/// Returns that error's rule and remedy, for a name that find_model_folder() does not find.
std::string missing_model(const std::string& name);

/// Returns true if `name` could be a Hub name: Owner/Name, not a path.
bool is_hub_name(const std::string& name);

}  // namespace roll
