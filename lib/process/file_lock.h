// A file lock (flock(2)) for run folders. It ends with its holder, however that ends; the file names the holder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/descriptor.h"

namespace roll {

class FileLock {
 public:
  /// Locks `file`, creating it if needed, and writes who holds it. Waits up to `patience_s` for another holder. If
  /// another process still holds the lock, returns nullptr and sets `holder` to the file's text. SystemError: the file
  /// cannot be created, locked or written.
  static std::unique_ptr<FileLock> take(const std::filesystem::path& file, double patience_s, std::string& holder);

  /// Returns whether the path still names the locked file: not removed, renamed or replaced.
  bool is_in_place() const;

  /// Returns whether a process holds the lock of `file` now; false if that cannot be determined.
  static bool is_held(const std::filesystem::path& file);

 private:
  FileLock(int fd, std::filesystem::path file) : fd_(fd), file_(std::move(file)) {}
  Descriptor fd_;
  std::filesystem::path file_;
};

}  // namespace roll
