// Moves and swaps that turn a partition by work into one that also keeps a token budget, and then evens it out.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/partition.h"

namespace roll {

/// Moves or swaps items out of parts that hold more than `budget` tokens until none does. False, with `parts` changed,
/// when no single move or swap helps any more.
bool repair_budget(Partition& parts, const std::vector<int64_t>& tokens, int64_t budget);

/// Best fit, longest first: the first partition that keeps the budget, with as many parts as that takes.
Partition best_fit_decreasing(const std::vector<int64_t>& tokens, int64_t budget);

/// Moves or swaps items out of the heaviest part while that lowers the largest weight and keeps the budget, until the
/// imbalance is under 0.01 % or nothing helps.
void even_out(Partition& parts, const std::vector<double>& weights, const std::vector<int64_t>& tokens, int64_t budget);

/// even_out() by swaps alone, without a budget: the counts of the parts stay.
void even_out_by_swaps(Partition& parts, const std::vector<double>& weights);

}  // namespace roll
