// Weights of whole sequences in the policy loss (keys difficulty_loss_weight and length_loss_weight), computed over the
// whole mini-batch, so that micro-batches and ranks cannot change them. Used by step/role_losses.h.
#pragma once

#include <cstdint>
#include <vector>

#include "loss/settings.h"

namespace roll {

/// Returns weights [B], where B is the number of sequences of the mini-batch over all ranks; empty if both kinds are
/// off. Sequences without a valid token get 0; the others are scaled so that their mean is 1. Weights before scaling:
///   difficulty_weights   0.5 + 1.5 d, with d the difficulty rescaled to 0 at low and 1 at high, and clamped
///   length_weights       1.5 - l, with l the valid tokens rescaled to 0 for the shortest and 1 for the longest
///   both                 the product
/// If all sequences have the same length, l is 0. difficulties: [B], the column `difficulty` of each sequence's prompt
/// row; valid_tokens: [B], numbers of masked tokens. Throws Bug if their sizes differ.
std::vector<float> sample_weights(const std::vector<double>& difficulties, const std::vector<int64_t>& valid_tokens,
                                  const LossSettings& settings);

}  // namespace roll
