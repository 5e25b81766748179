// Maps a file's bytes into memory. The operating system reads pages when they are first used. The memory may be
// written; the file never changes, because written pages are private copies.
#pragma once

#include <string>
#include <string_view>

namespace roll {

class MappedFile {
 public:
  /// Throws UserError if the file is missing, cannot be opened, or is not a regular file; SystemError if it cannot be
  /// mapped.
  explicit MappedFile(const std::string& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  size_t size() const { return size_; }
  /// Returns the first byte; nullptr if the file is empty.
  char* begin() const { return static_cast<char*>(data_); }
  std::string_view bytes() const { return {begin(), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace roll
