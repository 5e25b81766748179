// Presents a GGUF file as a Hugging Face folder, so that everything that reads models reads it too. The folder has
// config.json, the tokenizer's files and a link to the file, and lies in a cache: $XDG_CACHE_HOME/roll/gguf or
// ~/.cache/roll/gguf, or a folder of the user's among the temporary ones if that cannot be written.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace roll {

/// Name of the link to the (first) GGUF file.
inline constexpr const char* kGgufLink = "model.gguf";

/// Returns true if `name` is a file, or a link to one, whose name ends with ".gguf".
bool is_gguf(const std::string& name);

/// Returns the folder for a GGUF file; makes it where it is missing. Ranks and programs may do so at once. A changed
/// file gets another folder. UserError: the file is damaged, or its model is not known here. SystemError: no cache can
/// be written.
std::filesystem::path gguf_folder(const std::filesystem::path& file);

/// Returns the GGUF file that `folder` presents; nullopt if it is another folder.
std::optional<std::filesystem::path> gguf_file_in(const std::filesystem::path& folder);

}  // namespace roll
