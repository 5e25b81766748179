// Who computes what: the sequences of a step -> mini-batches (one optimizer update each) -> data-parallel ranks ->
// micro-batches (one forward and backward each). Pure functions of lengths, so every rank knows every rank's plan and
// nothing is communicated.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/workload.h"
#include "packing/micro_batches.h"
#include "packing/shared_prompts.h"

namespace roll {

/// How a rank cuts its share of sequences into micro-batches.
struct BatchRule {
  bool is_packed = false;
  PackOptions packing;        // when packed: the token budget; its workload balances the ranks in any case
  int64_t num_sequences = 8;  // else: sequences of a micro-batch (computed without padding all the same), or units
  int64_t unit = 1;           // so many neighbours stay in one micro-batch, as the two responses of a pair must

  /// This rule where sequences cost `workload`.
  BatchRule with(const Workload& workload) const;
};

/// The alignment under which these sequences, as one batch, compute prompts once; 0: they do not.
int64_t sharing_of(const SequenceSizes& sizes, const BatchRule& rule);

/// [rank][micro-batch][i]: numbers of sequences. Ranks get equal work (and counts that differ by one at most), and
/// every rank the same number of micro-batches (some may be empty). Where prompts are shared, groups stay together, in
/// pieces only where ranks or a budget want that, and counts may differ. UserError: a sequence, or unit, longer than
/// the budget.
std::vector<Partition> plan_ranks(const SequenceSizes& sizes, const BatchRule& rule, int64_t num_ranks);

/// How a role trains on a step: epochs of mini-batches.
struct EpochRule {
  int64_t mini_batch = 1;  // sequences of an optimizer update, of all ranks
  int64_t group_size = 1;  // > 1: groups of so many neighbours stay in one mini-batch, as prompt-mean needs them
  std::optional<uint64_t> seed = 0;  // names the shuffles; null: sequences stay in order
  int64_t num_epochs = 1;
  int64_t num_ranks = 1;  // data-parallel ones
  BatchRule micro_batches{};
};

/// The mini-batches of an epoch of a step of `num_sequences`: a shuffle named by (seed, step, epoch), cut into pieces.
/// UserError when mini_batch does not divide num_sequences, or group_size does not divide mini_batch.
Partition epoch_mini_batches(const EpochRule& rule, int64_t num_sequences, int64_t step, int64_t epoch);
/// Of all epochs, one after the other.
Partition step_mini_batches(const EpochRule& rule, int64_t num_sequences, int64_t step);
/// What each data rank trains on in an epoch, of sequences of these sizes: sequences of the step, mini-batch after
/// mini-batch.
Partition epoch_shares(const EpochRule& rule, const SequenceSizes& sizes, int64_t step, int64_t epoch);

/// Of plans of batches, [batch][data rank][micro-batch], what each data rank has, in the order in which it is packed.
Partition shares_of(const std::vector<std::vector<Partition>>& batches);
/// The micro-batches of a data rank whose only plan this is, as places in its share.
Partition places_in_share(const Partition& plan);

}  // namespace roll
