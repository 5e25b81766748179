// List of byte strings. The first ones stay in memory; the rest goes to an unlinked temporary file, which vanishes with
// the process.
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

  /// SystemError: the disk with the temporary folder (TMPDIR, else /tmp) is full.
  void add(std::string_view bytes);
  int64_t size() const { return std::ssize(ends_); }
  /// SystemError: the file cannot be read.
  std::string at(int64_t index) const;

 private:
  void write(std::string_view bytes);

  int64_t bytes_in_memory_;
  std::vector<int64_t> ends_;  // end offset of each string
  std::string memory_;         // the first strings
  Descriptor file_;            // the other strings; unset while memory suffices
};

}  // namespace roll
