// Extracts the warnings from a run's log.txt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// A warning; texts that differ only in numbers are counted together.
struct LoggedWarning {
  std::string text;  // first occurrence, with its continuation lines
  std::string last;  // last occurrence; empty if there is only one
  int64_t count = 1;
};

/// Returns the warnings, ordered by first occurrence.
std::vector<LoggedWarning> warnings_in(std::string_view log);

}  // namespace roll
