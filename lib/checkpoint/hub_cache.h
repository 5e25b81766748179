// Finds the folder on this machine for the name of a model or data set that a user wrote. The name of a model is the
// path of a model folder, of a run's folder or of a GGUF file, or a Hub name (Qwen/Qwen2.5-7B). Hub names are looked up
// in the local Hugging Face cache; nothing is downloaded.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace roll {

/// Returns the cache folder of huggingface_hub: HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub.
std::filesystem::path hub_cache();

/// Returns a model's folder; nullopt if there is none. Does not check the folder's contents. In order:
/// - `name` is a folder of a run or a checkpoint: the trained policy in it (for a run, in its latest checkpoint).
/// - `name` is another folder: that folder.
/// - `name` is a GGUF file: gguf_folder(), which may throw UserError.
/// - `name` is a Hub name: its snapshot in the cache, which refs/main names or which is the only one.
std::optional<std::filesystem::path> find_model_folder(const std::string& name);

/// Returns the first two parts of a data set's name: OWNER/NAME for OWNER/NAME or OWNER/NAME/FOLDER.
std::string dataset_repository(const std::string& name);

/// Returns the cached snapshot of the data set OWNER/NAME, or, for OWNER/NAME/FOLDER, that folder of the snapshot.
/// Returns nullopt if the cache has none. Does not look at the user's own folders.
std::optional<std::filesystem::path> find_dataset_folder(const std::string& name);

/// Returns find_model_folder(). Throws UserError if there is none: "name: " and missing_model(), after "flag = " if
/// `flag` is not empty.
std::filesystem::path model_folder(const std::string& name, const std::string& flag = "");

/// Returns the error text for a name that find_model_folder() does not find: where it was searched, and how to download
/// the model.
std::string missing_model(const std::string& name);

/// True if `name` has the form of a Hub name, Owner/Name, and does not begin like a path. `name` must not be empty.
bool is_hub_name(const std::string& name);

}  // namespace roll
