// Plans the batches of a step: sequences -> mini-batches (one optimizer update each) -> data-parallel ranks ->
// micro-batches (one forward and backward each). Plans are pure functions of lengths, so every rank computes every
// rank's plan without communication.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/workload.h"
#include "packing/micro_batches.h"
#include "packing/shared_prompts.h"

namespace roll {

/// Rule by which a rank splits its sequences into micro-batches.
struct BatchRule {
  bool is_packed = false;
  PackOptions packing;        // token budget if packed; the workload always balances ranks
  int64_t num_sequences = 8;  // if not packed: sequences (or units) per micro-batch; no padding either
  int64_t unit = 1;           // number of adjacent sequences kept in one micro-batch, such as a DPO pair

  /// Returns this rule with another cost model of sequences.
  BatchRule with(const Workload& workload) const;
};

/// Returns the alignment for prefix sharing if it pays for these sequences as one batch; 0: no sharing.
int64_t sharing_alignment(const SequenceSizes& sizes, const BatchRule& rule);

/// Returns [rank][micro-batch][i]: sequence indices. Ranks get equal work, sequence counts that differ by at most one,
/// and the same number of micro-batches (some may be empty). With prefix sharing, groups stay together unless ranks or
/// a budget need pieces, and counts may differ. UserError: a sequence or unit exceeds the budget.
std::vector<Partition> plan_ranks(const SequenceSizes& sizes, const BatchRule& rule, int64_t num_ranks);

/// How a role trains on a step: epochs of mini-batches.
struct EpochRule {
  int64_t mini_batch = 1;            // sequences per optimizer update, over all ranks
  int64_t group_size = 1;            // > 1: groups of this many adjacent sequences stay in one mini-batch (prompt-mean)
  std::optional<uint64_t> seed = 0;  // seed of the shuffles; null: no shuffle
  int64_t num_epochs = 1;
  int64_t num_ranks = 1;  // data-parallel ranks
  BatchRule micro_batches{};
};

/// Returns the mini-batches of one epoch over `num_sequences` sequences: a shuffle keyed by (seed, step, epoch), cut
/// into pieces. UserError: mini_batch does not divide num_sequences, or group_size does not divide mini_batch.
Partition epoch_mini_batches(const EpochRule& rule, int64_t num_sequences, int64_t step, int64_t epoch);
/// Returns the mini-batches of all epochs in order.
Partition step_mini_batches(const EpochRule& rule, int64_t num_sequences, int64_t step);
/// Returns the sequences that each data-parallel rank trains on in an epoch, in the order of mini-batches.
Partition epoch_shares(const EpochRule& rule, const SequenceSizes& sizes, int64_t step, int64_t epoch);

/// Returns each data-parallel rank's sequences in packed order, given plans [batch][data-parallel rank][micro-batch].
Partition rank_sequences(const std::vector<std::vector<Partition>>& batches);
/// Returns a data-parallel rank's micro-batches as indices in its share, if this is its only plan.
Partition share_indices(const Partition& plan);

}  // namespace roll
