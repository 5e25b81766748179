// A lock that lives as long as the process that holds it, however it ends: flock(2) on a file that names its holder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/descriptor.h"

namespace roll {

class FileLock {
 public:
  /// Takes the lock of `file`, which is created; a holder that is about to end gets `patience_s`. The file then says
  /// who holds it. SystemError: the file cannot be written. `holder` gets what the file says where another process
  /// keeps it; then the result is null.
  static std::unique_ptr<FileLock> take(const std::filesystem::path& file, double patience_s, std::string& holder);

  /// Whether `file` is what it was when it was locked: neither removed, nor renamed, nor another one.
  bool is_in_place() const;

  /// Whether a process keeps the lock of `file` now; false where that cannot be seen.
  static bool is_held(const std::filesystem::path& file);

 private:
  FileLock(int fd, std::filesystem::path file) : fd_(fd), file_(std::move(file)) {}
  Descriptor fd_;
  std::filesystem::path file_;
};

}  // namespace roll
