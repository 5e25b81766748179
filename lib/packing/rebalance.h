// Improves partitions by moves and swaps: first to keep a token budget, then to even out work.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/partition.h"

namespace roll {

/// Moves or swaps items out of parts over `budget` tokens until none exceeds it. Returns false, with `parts` changed,
/// if no single move or swap helps any more.
bool repair_budget(Partition& parts, const std::vector<int64_t>& tokens, int64_t budget);

/// Packs by best fit, longest first, into as few parts as that takes; all keep the budget.
Partition best_fit_decreasing(const std::vector<int64_t>& tokens, int64_t budget);

/// Moves or swaps items out of the heaviest part while that lowers the largest weight and keeps the budget, until the
/// imbalance is under 0.01 % or nothing helps.
void even_out(Partition& parts, const std::vector<double>& weights, const std::vector<int64_t>& tokens, int64_t budget);

/// Like even_out(), by swaps alone and without a budget: the parts' counts stay.
void even_out_by_swaps(Partition& parts, const std::vector<double>& weights);

}  // namespace roll
