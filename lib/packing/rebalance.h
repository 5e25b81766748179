// Improves partitions for micro_batches.h and balance_ranks() by moving items to other parts and swapping items: to
// keep a token budget per part, and to even out work. `tokens` and `weights` hold the tokens and the work of each item.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/partition.h"

namespace roll {

/// Changes `parts` until none has more than `budget` tokens, and returns true. Returns false if no move or swap helps
/// any more; `parts` is then changed, but still a partition.
bool repair_budget(Partition& parts, const std::vector<int64_t>& tokens, int64_t budget);

/// Packs all items, longest first, each into the fullest part with room for it or else a new one (best fit decreasing).
/// No part gets more than `budget` tokens, which no item may have.
Partition best_fit_decreasing(const std::vector<int64_t>& tokens, int64_t budget);

/// Moves or swaps items out of the part with most work, as long as that lowers the maximum and no part gets more than
/// `budget` tokens. Ends when the maximum is within 0.01 % of the mean, when no step helps, or after 4 * parts.size() +
/// 64 steps.
void even_out(Partition& parts, const std::vector<double>& weights, const std::vector<int64_t>& tokens, int64_t budget);

/// Like even_out(), but only swaps, and without a budget: the number of items in each part stays.
void even_out_by_swaps(Partition& parts, const std::vector<double>& weights);

}  // namespace roll
