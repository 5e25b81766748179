// Maps a file's bytes into memory: pages are fetched when touched, and copied when written to. The file never changes.
#pragma once

#include <string>
#include <string_view>

namespace roll {

class MappedFile {
 public:
  /// UserError: the file is missing, cannot be opened, or is no regular file. SystemError: it cannot be mapped.
  explicit MappedFile(const std::string& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  size_t size() const { return size_; }
  char* begin() const { return static_cast<char*>(data_); }
  std::string_view bytes() const { return {begin(), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace roll
