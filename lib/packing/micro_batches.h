// Splits a mini-batch into micro-batches under a token budget that is never exceeded.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/config.h"
#include "packing/partition.h"

namespace roll {

struct PackOptions {
  PackAlgorithm algorithm = PackAlgorithm::kLoadBalance;
  int64_t budget = 0;     // aligned tokens per micro-batch, whole sequences (before a context-parallel cut)
  int64_t alignment = 1;  // see sequence_alignment()
  int64_t min_num_micro_batches = 1;
  SharePrompts share_prompts = SharePrompts::kFalse;
  Workload workload = {};  // cost that load_balance equalises
};

/// Items that a plan distributes: sequences, or groups that stay together.
struct PlannedItems {
  std::vector<int64_t> tokens;  // aligned; none exceeds the budget
  std::vector<double> work;
};

/// UserError: an item exceeds the budget; names its length before alignment, and the budget.
void check_budget(const PlannedItems& items, const std::vector<int64_t>& lengths, const PackOptions& options);

/// Returns one item per sequence. UserError: as for check_budget().
PlannedItems plan_items(const std::vector<int64_t>& lengths, const PackOptions& options);

/// Returns micro-batches as lists of item indices; none is empty, and no items give no micro-batches.
/// none: in the given order, greedily. load_balance: at least max(ceil(sum / budget), min_num_micro_batches) parts of
/// nearly equal work, ordered small - large - small. min_num_micro_batches is capped by the number of items.
Partition plan_micro_batches(const PlannedItems& items, const PackOptions& options);
inline Partition plan_micro_batches(const std::vector<int64_t>& lengths, const PackOptions& options) {
  return plan_micro_batches(plan_items(lengths, options), options);
}

/// Returns a plan with exactly `num_micro_batches` (>= the other form's; all ranks agree on the largest), so that every
/// rank runs equally many forwards. Parts are split while there are enough items; then follow empty fillers, which the
/// trainer runs with zero loss.
Partition plan_micro_batches(const PlannedItems& items, const PackOptions& options, int64_t num_micro_batches);
inline Partition plan_micro_batches(const std::vector<int64_t>& lengths, const PackOptions& options,
                                    int64_t num_micro_batches) {
  return plan_micro_batches(plan_items(lengths, options), options, num_micro_batches);
}

/// Splits without a budget: consecutive runs of `size` sequences.
Partition fixed_micro_batches(int64_t num_sequences, int64_t size);

/// Sorts parts ascending by work up to the middle, descending after it: small ones fill and drain a pipeline.
Partition small_large_small(Partition parts, const std::vector<double>& weights);

}  // namespace roll
