// A new folder for temporary files.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace roll {

/// Owns a temporary folder; the destructor removes it with all files in it.
class ScratchFolder {
 public:
  /// Creates a new folder in `parent`, by default the system's folder for temporary files ($TMPDIR or /tmp). Its name
  /// is `name` and six random characters. Throws SystemError if it cannot be created.
  explicit ScratchFolder(const std::string& name,
                         const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string pattern = (parent / (name + "XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) throw system_error("{}: cannot be made{}", pattern, errno_text());
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace roll
