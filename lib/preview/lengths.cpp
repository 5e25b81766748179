#include "preview/lengths.h"

#include <fmt/format.h>

#include <algorithm>

namespace roll {

LengthSummary summarise_lengths(std::vector<int64_t> lengths) {
  if (lengths.empty()) return {};
  std::ranges::sort(lengths);
  const auto at = [&](int64_t percent) { return lengths[(std::ssize(lengths) * percent + 99) / 100 - 1]; };
  return {at(50), at(90), at(99), lengths.back()};
}

std::string to_text(const LengthSummary& lengths) {
  return fmt::format("p50 {}, p90 {}, p99 {}, max {}", lengths.p50, lengths.p90, lengths.p99, lengths.max);
}

}  // namespace roll
