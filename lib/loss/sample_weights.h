// Weights of whole sequences in the policy loss, made for a mini-batch as a whole, so that micro-batches and ranks
// cannot change them. Mean 1 over the sequences that have a valid token; the others get 0.
#pragma once

#include <cstdint>
#include <vector>

#include "loss/settings.h"

namespace roll {

/// difficulty_weights: 0.5 + 1.5 x difficulty, on the scale from `low` (0) to `high` (1) and kept in 0..1.
/// length_weights: 1.5 - the response's length on the scale from the shortest
/// (0) to the longest (1) of the mini-batch. Both: their product. `difficulties`, `valid_tokens`: [B] of the whole
/// mini-batch. Empty when neither is wanted.
std::vector<float> sample_weights(const std::vector<double>& difficulties, const std::vector<int64_t>& valid_tokens,
                                  const LossSettings& settings);

}  // namespace roll
