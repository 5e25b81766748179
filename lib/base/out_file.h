// Writing a file's bytes, whole blocks past the page cache: a checkpoint is not read again soon, and copying gigabytes
// into the cache takes CPU from training and pushes out what it reads.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "base/file_sum.h"

namespace roll {

class OutFile {
 public:
  /// Creates the file, or empties it. SystemError.
  explicit OutFile(std::filesystem::path file);
  ~OutFile();
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;

  /// SystemError when the disk refuses.
  void append(std::string_view bytes);
  /// All is on the disk. SystemError.
  FileSum finish();

 private:
  void flush();
  void set_direct(bool direct);

  std::filesystem::path file_;
  int fd_ = -1;
  bool direct_ = false;
  struct Block;
  std::unique_ptr<Block> block_;
  size_t filled_ = 0;
  RunningSum sum_;
};

}  // namespace roll
