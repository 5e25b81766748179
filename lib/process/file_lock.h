// FileLock is a lock on a file (flock(2)), for run folders. The destructor, or the end of the process for any reason,
// releases it. The file stays, and names the last holder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/descriptor.h"

namespace roll {

class FileLock {
 public:
  /// Locks `file`, creating it if needed, and writes a line into it that names this process. Waits up to `patience_s`
  /// seconds while another process holds the lock. If that process still holds it then, returns nullptr and sets
  /// `holder` to its line. On a file system without locks, succeeds without locking. Throws SystemError if the file
  /// cannot be created, locked or written.
  static std::unique_ptr<FileLock> take(const std::filesystem::path& file, double patience_s, std::string& holder);

  /// Returns true if the path still leads to the locked file, which was not removed, renamed or replaced.
  bool is_in_place() const;

  /// Returns true if any process holds the lock of `file` now; false if none does, or that cannot be determined.
  static bool is_held(const std::filesystem::path& file);

 private:
  FileLock(int fd, std::filesystem::path file) : fd_(fd), file_(std::move(file)) {}
  Descriptor fd_;
  std::filesystem::path file_;
};

}  // namespace roll
