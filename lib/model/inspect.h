// Describes a model folder in words; of an unknown architecture, lists what this program lacks.
#pragma once

#include <filesystem>
#include <string>

namespace roll {

struct Inspection {
  std::string text;       // lines
  bool is_known = false;  // this program trains and samples it
};

/// Describes a folder. UserError: no such folder, no config.json.
Inspection inspect_folder(const std::filesystem::path& folder);

}  // namespace roll
