// Weights of whole sequences in the policy loss, computed over the whole mini-batch, so that micro-batches and ranks
// cannot change them. The mean is 1 over sequences with a valid token; other sequences get 0.
#pragma once

#include <cstdint>
#include <vector>

#include "loss/settings.h"

namespace roll {

/// Returns weights [B]; empty if both kinds are off. difficulty_weights: 0.5 + 1.5 x difficulty, rescaled from
/// low..high to 0..1 and clamped. length_weights: 1.5 - length, rescaled from the mini-batch's shortest (0) to its
/// longest (1). With both on, their product. `difficulties`, `valid_tokens`: [B] of the whole mini-batch. Bug: their
/// sizes differ.
std::vector<float> sample_weights(const std::vector<double>& difficulties, const std::vector<int64_t>& valid_tokens,
                                  const LossSettings& settings);

}  // namespace roll
