// Writing a file's bytes, whole blocks past the page cache: a checkpoint is not read again soon, and copying gigabytes
// into the cache takes CPU from training and pushes out what it reads.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "base/descriptor.h"
#include "base/file_sum.h"

namespace roll {

class OutFile {
 public:
  /// Creates the file, or empties it. SystemError.
  explicit OutFile(std::filesystem::path file);
  ~OutFile();

  /// SystemError when the disk refuses.
  void append(std::string_view bytes);
  /// All is on the disk. SystemError.
  FileSum finish();

 private:
  void flush();
  void set_direct(bool direct);

  std::filesystem::path file_;
  Descriptor fd_;
  bool direct_ = false;
  struct Block;
  std::unique_ptr<Block> block_;
  size_t filled_ = 0;
  RunningSum sum_;
};

}  // namespace roll
