// Texts of bytes, one behind the other: the first ones in memory, all behind them on disk, in an unlinked file that is
// gone with the process.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace roll {

class SpilledBytes {
 public:
  explicit SpilledBytes(int64_t bytes_in_memory) : bytes_in_memory_(bytes_in_memory) {}

  /// SystemError: the disk of the folder for temporary files (TMPDIR, else /tmp) is full.
  void add(std::string_view bytes);
  int64_t size() const { return std::ssize(ends_); }
  /// SystemError: the file cannot be read.
  std::string at(int64_t index) const;

 private:
  void write(std::string_view bytes);

  int64_t bytes_in_memory_;
  std::vector<int64_t> ends_;  // where each ends
  std::string memory_;         // the first ones
  Descriptor file_;            // all behind them; none yet where they are few
};

}  // namespace roll
