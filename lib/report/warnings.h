// Extracts the warnings from a run's log.txt, for `roll report`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// A warning; texts that differ only in numbers are one warning.
struct LoggedWarning {
  std::string text;   // first occurrence without time and rank, with its continuation lines
  std::string last;   // last occurrence; empty if there is only one
  int64_t count = 1;  // number of occurrences
};

/// Returns the warnings in `log`, the text of a log.txt, ordered by first occurrence.
std::vector<LoggedWarning> warnings_in(std::string_view log);

}  // namespace roll
