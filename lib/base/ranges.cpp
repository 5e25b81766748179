#include "base/ranges.h"

#include <fmt/format.h>

namespace roll {

std::string ranges_text(const std::vector<int>& numbers) {
  std::vector<std::string> parts;
  for (size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
    for (end = begin + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;) ++end;
    parts.push_back(end == begin + 1 ? fmt::format("{}", numbers[begin])
                                     : fmt::format("{} to {}", numbers[begin], numbers[end - 1]));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace roll
