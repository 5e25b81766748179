// Summary of lengths (of prompts or sequences) in four numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace roll {

/// Percentiles and maximum, in the unit of the lengths.
struct LengthSummary {
  int64_t p50 = 0, p90 = 0, p99 = 0, max = 0;
};

/// Returns nearest-rank percentiles: p90 is the smallest length L such that at least 90 % of the lengths are <= L. All
/// are 0 if `lengths` is empty.
LengthSummary summarise_lengths(std::vector<int64_t> lengths);

/// Returns "p50 103, p90 170, p99 260, max 412".
std::string to_text(const LengthSummary& lengths);

}  // namespace roll
