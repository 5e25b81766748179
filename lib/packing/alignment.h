// How long sequences are once a layout needs padding: model/token_layout.h. Pure integer functions.
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

/// 2*CP*TP when CP > 1, TP when only TP > 1 (sequence parallel cuts the token axis in TP pieces), else 1; raised to the
/// least common multiple with what a kernel needs (`kernel_multiple`, such as 16 for fp8).
int64_t sequence_alignment(int64_t context_parallel, int64_t tensor_parallel, int64_t kernel_multiple = 1);

/// The smallest multiple of `alignment` >= length.
int64_t aligned_length(int64_t length, int64_t alignment);
std::vector<int64_t> aligned_lengths(const std::vector<int64_t>& lengths, int64_t alignment);

/// [B+1] running sums: 0, l0, l0+l1, ...
std::vector<int64_t> cumulative(const std::vector<int64_t>& lengths);

}  // namespace roll
