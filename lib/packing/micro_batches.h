// A mini-batch cut into micro-batches under a token budget that is never exceeded.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/config.h"
#include "packing/partition.h"

namespace roll {

struct PackOptions {
  PackAlgorithm algorithm = PackAlgorithm::kLoadBalance;
  int64_t budget = 0;     // tokens of a micro-batch after alignment, whole sequences (before a context-parallel cut)
  int64_t alignment = 1;  // see sequence_alignment()
  int64_t min_num_micro_batches = 1;
  SharePrompts share_prompts = SharePrompts::kFalse;
  Workload workload = {};  // what load_balance equalises
};

/// What a plan distributes: sequences, or some that stay together.
struct PlannedItems {
  std::vector<int64_t> tokens;  // aligned; none over the budget
  std::vector<double> work;
};

/// UserError: an item of so many tokens before their alignment is more than the budget (its length, the budget).
void check_budget(const PlannedItems& items, const std::vector<int64_t>& lengths, const PackOptions& options);

/// UserError as check_budget().
PlannedItems items_of(const std::vector<int64_t>& lengths, const PackOptions& options);

/// Micro-batches as lists of item indices; none is empty (but no items give none at all).
/// none: in the given order, greedily. load_balance: at least max(ceil(sum / budget), min_num_micro_batches) parts of
/// nearly equal work, ordered small - large - small. min_num_micro_batches is capped by the number of items.
Partition plan_micro_batches(const PlannedItems& items, const PackOptions& options);
inline Partition plan_micro_batches(const std::vector<int64_t>& lengths, const PackOptions& options) {
  return plan_micro_batches(items_of(lengths, options), options);
}

/// The plan with exactly `num_micro_batches` (>= what the other form gave; all ranks agree on the largest), so that
/// every rank makes the same number of forwards: parts are split where there are items enough, then empty fillers
/// follow, which the trainer runs with zero loss.
Partition plan_micro_batches(const PlannedItems& items, const PackOptions& options, int64_t num_micro_batches);
inline Partition plan_micro_batches(const std::vector<int64_t>& lengths, const PackOptions& options,
                                    int64_t num_micro_batches) {
  return plan_micro_batches(items_of(lengths, options), options, num_micro_batches);
}

/// Without a budget: consecutive pieces of `size` sequences.
Partition fixed_micro_batches(int64_t num_sequences, int64_t size);

/// Parts in ascending order of work up to the middle, descending after it: small ones fill and drain a pipeline.
Partition small_large_small(Partition parts, const std::vector<double>& weights);

}  // namespace roll
