// Computes XXH3-128 checksums of files, for checkpoints. They detect damage, not forgery, and cost no more time than
// reading the bytes from memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace roll {

/// Size and checksum of a file.
struct FileSum {
  int64_t bytes = 0;  // size of the file
  std::string xxh3;   // XXH3-128 as hexadecimal digits, as `xxh128sum` prints it
  bool operator==(const FileSum&) const = default;
};
/// Checksums of the files in a folder, by path relative to it.
using FileSums = std::map<std::string, FileSum>;

/// Computes the FileSum of bytes that arrive in several calls of add().
class RunningSum {
 public:
  RunningSum();
  ~RunningSum();
  void add(std::string_view bytes);
  /// Returns the sum of all bytes so far.
  FileSum sum() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads a file and returns its sum. Throws UserError if the file is missing or cannot be read.
FileSum sum_of_file(const std::filesystem::path& file);

}  // namespace roll
