// Writes a file, bypassing the page cache for whole blocks. A checkpoint is not read again soon; caching gigabytes
// takes CPU from training and evicts its data.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "base/descriptor.h"
#include "base/file_sum.h"

namespace roll {

class OutFile {
 public:
  /// Creates the file, or empties it. SystemError: it cannot be opened.
  explicit OutFile(std::filesystem::path file);
  ~OutFile();

  /// Appends bytes. SystemError: the disk refuses.
  void append(std::string_view bytes);
  /// Writes the rest, fsyncs, and returns the checksum. SystemError: the disk refuses.
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
