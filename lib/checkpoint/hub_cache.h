// Model names to folders: a path as it is, a run's folder as its latest checkpoint's policy, a Hub name
// (`Qwen/Qwen2.5-7B`) from the local Hugging Face cache.
// Nothing is ever downloaded.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace roll {

/// The cache that huggingface_hub would use: HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub.
std::filesystem::path hub_cache();

/// `name` when it is a folder; of a run's or a checkpoint's its (latest) policy. Else the snapshot of
/// `models--Owner--Name` in the cache (that of refs/main, or the only one). nullopt when there is none.
std::optional<std::filesystem::path> find_model_folder(const std::string& name);

/// The repository in the name of a data set, or of a folder in it: OWNER/NAME of OWNER/NAME/FOLDER.
std::string dataset_repository(const std::string& name);

/// The snapshot folder of a data set in the cache, or of a folder in it: `Owner/Name`, `openai/gsm8k/main`. nullopt
/// when there is none.
std::optional<std::filesystem::path> find_dataset_folder(const std::string& name);

/// find_model_folder(), or a UserError "name: ...", or "flag = name: ...", that says where it was looked for and how to
/// download it.
std::filesystem::path model_folder(const std::string& name, const std::string& flag = "");

/// The rule and remedy of that error, for a name of which find_model_folder() knows nothing.
std::string missing_model(const std::string& name);

/// Whether `name` could be a Hub name: Owner/Name and no path.
bool is_hub_name(const std::string& name);

}  // namespace roll
