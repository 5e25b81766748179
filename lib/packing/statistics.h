// Measures a plan: fill of its micro-batches, padding, and imbalance of ranks. Pure functions of lengths, so that
// preview and training report the same numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/micro_batches.h"
#include "packing/shared_prompts.h"

namespace roll {

struct MicroBatchStats {
  int64_t num_sequences = 0;   // 0: a filler
  int64_t tokens = 0;          // computed tokens without padding
  int64_t aligned_tokens = 0;  // tokens under the budget
  double work = 0;             // work of a forward, by PackOptions::workload
  int64_t shared_tokens = 0;   // tokens not computed, since an equal prefix is reused
};

/// One batch (an update's mini-batch, or all sequences of a forward) on all ranks.
struct BatchStats {
  int64_t budget = 0;                               // tokens per micro-batch; 0: no budget
  std::vector<std::vector<MicroBatchStats>> ranks;  // [rank][micro-batch], equally many for each rank

  int64_t num_micro_batches() const;     // per rank, fillers included
  int64_t num_fillers() const;           // over all ranks
  int64_t num_over_budget() const;       // always 0, unless there is a bug
  int64_t tokens() const;                // useful tokens of all ranks
  double work() const;                   // sum over all ranks
  std::vector<double> fills() const;     // useful tokens / budget of each micro-batch except fillers; empty: no budget
  double shared() const;                 // share of tokens not computed, since a prefix is reused
  double padding() const;                // share of tokens that alignment adds
  double rank_imbalance() const;         // max / mean - 1 of the ranks' work
  double rank_imbalance_tokens() const;  // max / mean - 1 of the ranks' useful tokens
  double micro_batch_imbalance() const;  // max / mean - 1 of micro-batches' work, except fillers
};

/// Returns the statistics of `plans` [rank][micro-batch][sequence].
BatchStats batch_stats(const std::vector<Partition>& plans, const SequenceSizes& sizes, const PackOptions& options);

/// Returns the work of padded batching: runs of `size` sequences in order, each padded to its longest one.
double padded_work(const std::vector<int64_t>& lengths, int64_t size, const Workload& workload);

/// Counts of lengths in at most `num_bins` intervals of equal, round width.
struct Histogram {
  int64_t width = 1;            // bin b holds the lengths in b * width + 1 ... (b + 1) * width
  std::vector<int64_t> counts;  // up to the longest length's bin
};
Histogram histogram(const std::vector<int64_t>& lengths, int64_t num_bins);

/// Returns the smallest value with a share q of the sorted values at or below it (nearest rank). Bug: `sorted` is
/// empty.
int64_t quantile(const std::vector<int64_t>& sorted, double q);

}  // namespace roll
