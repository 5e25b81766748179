// Stores a list of byte strings, for row_store.h. The first strings stay in memory; the others go to an unlinked
// temporary file, which vanishes with the process. Not thread-safe while strings are added.
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
  /// `bytes_in_memory`: the first string that would make the total exceed this goes to the file, and so do all later
  /// ones.
  explicit SpilledBytes(int64_t bytes_in_memory) : bytes_in_memory_(bytes_in_memory) {}
  /// Appends a string. Throws SystemError if the temporary folder (TMPDIR, else /tmp) cannot be used or is full.
  void add(std::string_view bytes);
  /// Returns the number of strings.
  int64_t size() const { return std::ssize(ends_); }
  /// Returns string number `index`, from 0 to size() - 1. Throws SystemError if the file cannot be read.
  std::string at(int64_t index) const;

 private:
  void write(std::string_view bytes);

  int64_t bytes_in_memory_;
  std::vector<int64_t> ends_;  // end offset of each string
  std::string memory_;         // the first strings
  Descriptor file_;            // the other strings; unset while memory suffices
};

}  // namespace roll
