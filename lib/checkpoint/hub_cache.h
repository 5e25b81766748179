// Resolves the names of models and data sets that users write to folders on this machine: a path, the folder of one of
// our runs, a GGUF file, which a folder presents, or a Hub name (Qwen/Qwen2.5-7B), which is looked up in the local
// Hugging Face cache. Downloads nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace roll {

/// Returns the cache folder of huggingface_hub: HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub.
std::filesystem::path hub_cache();

/// Returns a model's folder. If `name` is the path of a folder: the trained policy in it if it is the folder of a run
/// (its latest checkpoint) or of a checkpoint, else the folder itself. Else the snapshot of that Hub name in the cache:
/// the one that refs/main names, or the only one. For a GGUF file: the folder that presents it (gguf_folder.h), which
/// may throw UserError. Returns nullopt if there is none. Does not check the folder's contents.
std::optional<std::filesystem::path> find_model_folder(const std::string& name);

/// Returns the Hub repository in a data set's name, which may end with a folder: OWNER/NAME for OWNER/NAME/FOLDER.
std::string dataset_repository(const std::string& name);

/// Returns the snapshot of a data set in the cache, or the folder in it that the name adds: Owner/Name, or
/// openai/gsm8k/main for the folder main. Returns nullopt if there is none. Paths of the user's folders are not looked
/// up.
std::optional<std::filesystem::path> find_dataset_folder(const std::string& name);

/// Returns find_model_folder(). Throws UserError "name: ...", or "flag = name: ..." if `flag` is not empty, if there is
/// none; it says where it was searched and how to download it.
std::filesystem::path model_folder(const std::string& name, const std::string& flag = "");

/// Returns the part of that message after the name, for a name that find_model_folder() does not find.
std::string missing_model(const std::string& name);

/// True if `name` has the form of a Hub name, Owner/Name, and does not begin like a path. `name` must not be empty.
bool is_hub_name(const std::string& name);

}  // namespace roll
