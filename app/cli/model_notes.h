// What a command says of a model's folder before it reads it.
#pragma once

#include <filesystem>

namespace roll {

/// Writes folder_notes() to the standard error, one line each. UserError: theirs.
void say_notes(const std::filesystem::path& model);

}  // namespace roll
