// What a model's folder is, in words, and what one that is not known has that this program lacks.
#pragma once

#include <filesystem>
#include <string>

namespace roll {

struct Inspection {
  std::string text;       // lines
  bool is_known = false;  // whether it is trained and sampled
};

/// UserError: no such folder, no config.json.
Inspection inspect_folder(const std::filesystem::path& folder);

}  // namespace roll
