// Presents a GGUF file as a Hugging Face folder, so that code that reads model folders reads GGUF models too. The
// folder holds config.json, the tokenizer's files and a link to the GGUF file. It lies in a cache:
// $XDG_CACHE_HOME/roll/gguf, or ~/.cache/roll/gguf if the variable is unset. If that cannot be written, the cache is
// roll-gguf-UID in the folder for temporary files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace roll {

/// Name of the link to the (first) GGUF file.
inline constexpr const char* kGgufLink = "model.gguf";

/// Returns true if `name` is a file, or a link to one, whose name ends with ".gguf".
bool is_gguf(const std::string& name);

/// Returns the Hugging Face folder of a GGUF file; makes the folder if the cache lacks it. `file`: the file, or any
/// part of a split model (NAME-00001-of-00003.gguf). Several processes may call it at once. The contents are made each
/// time: if they differ from those in the cache (the file changed, or this is another version of the program), they get
/// a new folder. Throws UserError if the file is missing or damaged, or its model is of a
/// kind that roll cannot read; SystemError if no cache can be written.
std::filesystem::path gguf_folder(const std::filesystem::path& file);

/// Returns the GGUF file that `folder` presents; nullopt if gguf_folder() did not make the folder.
std::optional<std::filesystem::path> gguf_file_in(const std::filesystem::path& folder);

}  // namespace roll
