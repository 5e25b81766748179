// Where tokens sit once a layout needs padding or slices. Pure integer functions.
// A sequence is padded to a multiple of the alignment; under context parallelism (CP) it is then cut into 2*CP chunks
// and rank r holds chunks r and 2*CP-1-r, so that causal attention costs every rank the same.
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

/// The token indices (of the unpadded packed axis, in order) that a CP rank holds, -1 for padding. Each sequence
/// contributes aligned/CP slots, so the rank's own ranges are cumulative(aligned)/CP. The alignment must be a multiple
/// of 2*CP when CP > 1 (Bug).
std::vector<int64_t> context_parallel_slots(const std::vector<int64_t>& lengths, int64_t alignment,
                                            int64_t context_parallel, int64_t rank);

/// The way back: where each token of the packed axis sits when the slots of rank 0, 1, ... follow one another, as an
/// all-gather over the CP ranks lays them.
std::vector<int64_t> context_parallel_places(const std::vector<int64_t>& lengths, int64_t alignment,
                                             int64_t context_parallel);

}  // namespace roll
