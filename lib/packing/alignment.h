// Rounds sequence lengths up to the multiple that a parallel layout needs; the model pads sequences to it
// (model/token_layout.h).
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

/// Returns the multiple: 2 * context_parallel * tensor_parallel with context parallelism, otherwise tensor_parallel
/// (sequence parallelism cuts the tokens into that many parts); its least common multiple with `kernel_multiple`, which
/// kernels need, such as 16 for fp8. Arguments are at least 1 (1: not parallel).
int64_t sequence_alignment(int64_t context_parallel, int64_t tensor_parallel, int64_t kernel_multiple = 1);

/// Return each length rounded up to a multiple of `alignment`.
int64_t aligned_length(int64_t length, int64_t alignment);
std::vector<int64_t> aligned_lengths(const std::vector<int64_t>& lengths, int64_t alignment);

/// Returns the running sums of B lengths, [B+1]: 0, lengths[0], lengths[0] + lengths[1], ...
std::vector<int64_t> cumulative(const std::vector<int64_t>& lengths);

}  // namespace roll
