// Checksums of files: XXH3-128, which is as fast as memory. Detects damage, not forgery.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace roll {

struct FileSum {
  int64_t bytes = 0;
  std::string xxh3;  // XXH3-128 as hexadecimal digits, as `xxh128sum` prints it
  bool operator==(const FileSum&) const = default;
};
using FileSums = std::map<std::string, FileSum>;  // path below a folder -> sum

/// Checksum of bytes that arrive in pieces.
class RunningSum {
 public:
  RunningSum();
  ~RunningSum();
  void add(std::string_view bytes);
  FileSum sum() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// UserError: the file is missing or cannot be read.
FileSum sum_of_file(const std::filesystem::path& file);

}  // namespace roll
