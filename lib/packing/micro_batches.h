// Splits one rank's part of a batch into micro-batches under a token budget that is never exceeded. It works on items,
// from 0 to n - 1: sequences, or groups of sequences that must stay together.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/config.h"
#include "packing/partition.h"

namespace roll {

struct PackOptions {
  PackAlgorithm algorithm = PackAlgorithm::kLoadBalance;
  int64_t budget = 0;                 // aligned tokens per micro-batch, over all context-parallel ranks; at least 1
  int64_t alignment = 1;              // aligned lengths are rounded up to multiples of this (sequence_alignment())
  int64_t min_num_micro_batches = 1;  // or the number of items, if that is smaller
  SharePrompts share_prompts = SharePrompts::kFalse;
  Workload workload = {};  // cost of a sequence, which load_balance evens out
};

/// The sizes of n items.
struct PlannedItems {
  std::vector<int64_t> tokens;  // [n] aligned tokens; each at most the budget
  std::vector<double> work;     // [n] in units of PackOptions::workload
};

/// Throws UserError if an item has more tokens than the budget. `lengths`: [n] tokens before alignment, for the
/// message.
void check_budget(const PlannedItems& items, const std::vector<int64_t>& lengths, const PackOptions& options);

/// Returns one item per sequence. `lengths`: [n] tokens. Throws UserError if an aligned length exceeds the budget.
PlannedItems plan_items(const std::vector<int64_t>& lengths, const PackOptions& options);

/// Returns at least min_num_micro_batches micro-batches, as lists of item indices; no list is empty. Without items it
/// returns no micro-batches. PackAlgorithm::kNone fills them in the given order. kLoadBalance takes nearly as few as
/// the budget allows, with nearly equal work, and sorts them by small_large_small().
Partition plan_micro_batches(const PlannedItems& items, const PackOptions& options);
inline Partition plan_micro_batches(const std::vector<int64_t>& lengths, const PackOptions& options) {
  return plan_micro_batches(plan_items(lengths, options), options);
}

/// Returns exactly num_micro_batches micro-batches, so that every rank runs equally many. Callers pass the largest
/// number that the function above returns on any rank; throws Bug if it is smaller than this rank's. If this rank has
/// fewer items, empty lists (fillers) follow at the end, which the trainer runs with zero loss.
Partition plan_micro_batches(const PlannedItems& items, const PackOptions& options, int64_t num_micro_batches);
inline Partition plan_micro_batches(const std::vector<int64_t>& lengths, const PackOptions& options,
                                    int64_t num_micro_batches) {
  return plan_micro_batches(plan_items(lengths, options), options, num_micro_batches);
}

/// Splits sequences 0 .. num_sequences - 1 in order, without a budget: each micro-batch has the next `size` (at least
/// 1); the last one may have fewer.
Partition fixed_micro_batches(int64_t num_sequences, int64_t size);

/// Returns the micro-batches `parts` in an order in which the work rises up to the middle and then falls, so that small
/// ones fill and drain a pipeline. `weights`: [n] work of each item.
Partition small_large_small(Partition parts, const std::vector<double>& weights);

}  // namespace roll
