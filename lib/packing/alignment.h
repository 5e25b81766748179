// Pads sequence lengths to the multiple that a parallel layout needs (model/token_layout.h).
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

/// Returns 2*CP*TP if CP > 1, TP if only TP > 1 (sequence parallelism cuts the token axis into TP parts), else 1;
/// raised to the least common multiple with `kernel_multiple`, such as 16 for fp8.
int64_t sequence_alignment(int64_t context_parallel, int64_t tensor_parallel, int64_t kernel_multiple = 1);

/// Returns the smallest multiple of `alignment` >= length.
int64_t aligned_length(int64_t length, int64_t alignment);
std::vector<int64_t> aligned_lengths(const std::vector<int64_t>& lengths, int64_t alignment);

/// Returns [B+1] running sums: 0, l0, l0+l1, ...
std::vector<int64_t> cumulative(const std::vector<int64_t>& lengths);

}  // namespace roll
