// Writes a file past the kernel's page cache (O_DIRECT, where the file system allows it). For checkpoints: they are not
// read again soon, and caching gigabytes takes CPU time from training and evicts its data.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "base/descriptor.h"
#include "base/file_sum.h"

namespace roll {

/// A new file, written from beginning to end; only one thread may use it.
class OutFile {
 public:
  /// Creates the file, or empties it. Throws SystemError if it cannot be opened. If finish() is not called, the last
  /// bytes are not written.
  explicit OutFile(std::filesystem::path file);
  ~OutFile();

  /// Appends bytes. Throws SystemError if writing fails.
  void append(std::string_view bytes);
  /// Writes the buffered rest, fsyncs, and returns size and checksum of all bytes. Call it once, at the end. Throws
  /// SystemError if writing or syncing fails.
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
