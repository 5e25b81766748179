// Describes a model folder in words, for `roll inspect`. For an unknown architecture, it lists the features that this
// program lacks.
#pragma once

#include <filesystem>
#include <string>

namespace roll {

struct Inspection {
  std::string text;       // for the terminal, several lines
  bool is_known = false;  // true if this program supports the model
};

/// Describes a folder. Throws UserError if there is no such folder, or no config.json in it.
Inspection inspect_folder(const std::filesystem::path& folder);

}  // namespace roll
