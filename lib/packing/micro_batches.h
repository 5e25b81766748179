// A mini-batch cut into micro-batches under a token budget that is never exceeded.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/partition.h"

#include "packing/config.h"

namespace roll {

struct PackOptions {
  PackAlgorithm algorithm = PackAlgorithm::kLoadBalance;
  int64_t budget = 0;     // tokens of a micro-batch after alignment, whole sequences (before a context-parallel cut)
  int64_t alignment = 1;  // see sequence_alignment()
  int64_t min_num_micro_batches = 1;
  Workload workload = {};  // what load_balance equalises
};

/// Micro-batches as lists of sequence indices; none is empty (but a mini-batch of no sequences gives none at all).
/// none: in the given order, greedily. load_balance: at least max(ceil(sum / budget), min_num_micro_batches) parts of
/// nearly equal work, ordered small - large - small. min_num_micro_batches is capped by the number of sequences.
/// UserError: a sequence that is longer than the budget (its index, its length, the budget).
Partition plan_micro_batches(const std::vector<int64_t>& lengths, const PackOptions& options);

/// The plan with exactly `num_micro_batches` (>= what the other form gave; all ranks agree on the largest), so that
/// every rank makes the same number of forwards: parts are split where there are sequences enough, then empty fillers
/// follow, which the trainer runs with zero loss.
Partition plan_micro_batches(const std::vector<int64_t>& lengths, const PackOptions& options,
                             int64_t num_micro_batches);

/// Without a budget: consecutive pieces of `size` sequences.
Partition fixed_micro_batches(int64_t num_sequences, int64_t size);

/// Parts in ascending order of work up to the middle, descending after it: small ones fill and drain a pipeline.
Partition small_large_small(Partition parts, const std::vector<double>& weights);

}  // namespace roll
