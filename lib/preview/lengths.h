// Summary of lengths in four numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace roll {

struct LengthSummary {
  int64_t p50 = 0, p90 = 0, p99 = 0, max = 0;
};

/// Nearest-rank percentiles: p90 is the smallest length that at least 90 % do not exceed. All 0 without lengths.
LengthSummary summarise_lengths(std::vector<int64_t> lengths);

/// Returns "p50 103, p90 170, p99 260, max 412".
std::string to_text(const LengthSummary& lengths);

}  // namespace roll
