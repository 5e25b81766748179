// Rounds sequence lengths up to the multiple that a parallel layout needs, for packing. The model pads each sequence to
// it (model/token_layout.h).
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

/// Returns the number of tokens to whose multiples lengths are rounded up. It is tensor_parallel, because sequence
/// parallelism cuts the tokens into that many parts, or with context parallelism 2 * context_parallel *
/// tensor_parallel. If kernels need a multiple, such as 16 for fp8, it is the least common multiple with
/// `kernel_multiple`. Arguments are sizes from 1 (1: not parallel); throws Bug for a smaller one.
int64_t sequence_alignment(int64_t context_parallel, int64_t tensor_parallel, int64_t kernel_multiple = 1);

/// Return the length, or each length, rounded up to a multiple of `alignment`.
int64_t aligned_length(int64_t length, int64_t alignment);
std::vector<int64_t> aligned_lengths(const std::vector<int64_t>& lengths, int64_t alignment);

/// Returns the running sums of B lengths, [B+1]: 0, lengths[0], lengths[0] + lengths[1], ...
std::vector<int64_t> cumulative(const std::vector<int64_t>& lengths);

}  // namespace roll
