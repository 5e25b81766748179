// Plans the batches of a step: sequences -> mini-batches (one optimizer update each) -> data-parallel ranks ->
// micro-batches (one forward and backward each). The plan of one rank is a Partition: a list of micro-batches, each a
// list of sequence indices. Plans depend only on the sequences' lengths and settings, so every rank computes every
// rank's plan without communication. Used by role_forwards.h, updates.h, role_trainer.h and previews.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/workload.h"
#include "packing/micro_batches.h"
#include "packing/shared_prompts.h"

namespace roll {

/// Rule by which sequences are distributed to ranks and split into micro-batches. Micro-batches are never padded to the
/// longest sequence, packed or not.
struct BatchRule {
  bool is_packed = false;     // true: micro-batches hold up to packing.budget tokens; false: num_sequences sequences
  PackOptions packing;        // budget, alignment, prefix sharing; packing.workload balances ranks, packed or not
  int64_t num_sequences = 8;  // if not packed: sequences per micro-batch (rows, if sequences_per_row > 1)
  int64_t unshared = 0;       // further last tokens of a shared prompt that are not shared: prefix_tree() in packed.h
  int64_t sequences_per_row = 1;  // consecutive sequences that stay in one micro-batch: 2 for DPO's pairs

  /// Returns this rule with another cost model of sequences (packing.workload).
  BatchRule with(const Workload& workload) const;
};

/// Returns rule.packing.alignment if a batch of these sequences computes shared prompts once (shares_prompts()); else
/// 0.
int64_t sharing_alignment(const SequenceSizes& sizes, const BatchRule& rule);

/// Returns the sizes with the prompts' tokens that a batch of this rule can share.
SequenceSizes shareable(SequenceSizes sizes, const BatchRule& rule);

/// Distributes the sequences to num_ranks data-parallel ranks. Returns [rank][micro-batch][i]: indices in `sizes`, each
/// once. Ranks get nearly equal work, sequence counts that differ by at most one, and the same number of micro-batches
/// (some may be empty). With prefix sharing, the responses to a prompt stay together, unless balance between ranks or
/// the budget needs smaller pieces; counts may then differ more. Throws UserError if a sequence or row exceeds the
/// budget.
std::vector<Partition> plan_ranks(const SequenceSizes& sizes, BatchRule rule, int64_t num_ranks);

/// How a role trains on a step: epochs of mini-batches. An epoch passes once over all sequences of the step.
struct EpochRule {
  int64_t mini_batch = 1;  // sequences per optimizer update, over all ranks
  int64_t group_size = 1;  // consecutive sequences that stay in one mini-batch: a prompt's responses for prompt-mean
  std::optional<uint64_t> seed = 0;  // seed of the shuffles; nullopt: no shuffle
  int64_t num_epochs = 1;
  int64_t num_ranks = 1;  // data-parallel ranks
  BatchRule micro_batches{};
};

/// Returns the mini-batches of epoch 0, 1, ... of a step with `num_sequences` sequences, as indices in the step: a
/// shuffle keyed by (seed, step, epoch), cut into equal parts. Throws UserError if mini_batch does not divide
/// num_sequences, or group_size does not divide mini_batch.
Partition epoch_mini_batches(const EpochRule& rule, int64_t num_sequences, int64_t step, int64_t epoch);
/// Returns the mini-batches of all epochs in order. Throws like epoch_mini_batches().
Partition step_mini_batches(const EpochRule& rule, int64_t num_sequences, int64_t step);
/// Returns [rank][i]: indices of the step's sequences that a data-parallel rank trains on in an epoch, in the order of
/// mini-batches and then micro-batches. sizes: of all sequences of the step.
Partition epoch_shares(const EpochRule& rule, const SequenceSizes& sizes, int64_t step, int64_t epoch);

/// Returns [rank][i]: each data-parallel rank's sequences in the order in which it computes them. batches: results of
/// plan_ranks() for consecutive batches, [batch][rank][micro-batch][i].
Partition rank_sequences(const std::vector<std::vector<Partition>>& batches);
/// Returns a rank's plan with its sequences renumbered 0, 1, ... in their order. These are indices in a batch that
/// holds the rank's sequences in the order of rank_sequences({plans}).
Partition share_indices(const Partition& plan);

}  // namespace roll
