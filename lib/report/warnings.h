// The warnings in a run's log.txt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// A warning; those that differ only in numbers are counted as one.
struct LoggedWarning {
  std::string text;  // the first one's, with the lines that go on
  std::string last;  // the last one's; empty: there is one only
  int64_t count = 1;
};

/// In the order in which they first came.
std::vector<LoggedWarning> warnings_in(std::string_view log);

}  // namespace roll
