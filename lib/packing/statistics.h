// Measures how well sequences are packed into micro-batches: fill, padding, and imbalance of ranks. Training (as
// metrics) and `roll pack-stats` use the same functions, so they report the same numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/micro_batches.h"
#include "packing/shared_prompts.h"

namespace roll {

/// One micro-batch.
struct MicroBatchStats {
  int64_t num_sequences = 0;   // 0: a filler, which only keeps a rank in step with the others
  int64_t tokens = 0;          // computed tokens without padding ("useful")
  int64_t aligned_tokens = 0;  // computed tokens with padding, which count towards the budget
  double work = 0;             // work of a forward pass, by PackOptions::workload
  int64_t shared_tokens = 0;   // tokens that are not computed, because an equal prompt's are reused
};

/// One batch (an update's mini-batch, or all sequences of a log-prob forward) on all data-parallel ranks.
struct BatchStats {
  int64_t budget = 0;                               // tokens per micro-batch; 0: no budget
  std::vector<std::vector<MicroBatchStats>> ranks;  // [rank][micro-batch], equally many for each rank

  int64_t num_micro_batches() const;     // per rank, fillers included
  int64_t num_fillers() const;           // over all ranks
  int64_t num_over_budget() const;       // always 0, unless there is a bug
  int64_t tokens() const;                // useful tokens of all ranks
  double work() const;                   // sum over all ranks
  std::vector<double> fills() const;     // useful tokens / budget of each micro-batch except fillers; empty: no budget
  double shared() const;                 // shared_tokens / (shared_tokens + tokens), over all micro-batches
  double padding() const;                // (aligned_tokens - tokens) / aligned_tokens, over all micro-batches
  double rank_imbalance() const;         // max / mean - 1 of the ranks' work
  double rank_imbalance_tokens() const;  // max / mean - 1 of the ranks' useful tokens
  double micro_batch_imbalance() const;  // max / mean - 1 of micro-batches' work, except fillers
};

/// Returns the statistics of a global batch with `sizes`. plans[rank][micro-batch]: list of indices into `sizes`.
BatchStats batch_stats(const std::vector<Partition>& plans, const SequenceSizes& sizes, const PackOptions& options);

/// Returns the forward work of padded batching: each micro-batch has the next `size` sequences, and each costs as much
/// as the longest one.
double padded_work(const std::vector<int64_t>& lengths, int64_t size, const Workload& workload);

/// Counts of lengths in intervals (bins) of equal width.
struct Histogram {
  int64_t width = 1;            // bin b counts the lengths b * width + 1 ... (b + 1) * width
  std::vector<int64_t> counts;  // by bin; the last bin has the longest length; empty without lengths
};
/// Returns the histogram with the smallest width of 1, 2, 5, 10, 20, ... that needs at most `num_bins` (at least 1)
/// bins.
Histogram histogram(const std::vector<int64_t>& lengths, int64_t num_bins);

/// Returns the smallest value v in `sorted` (ascending) such that a share of at least q (0..1) of all values is <= v.
/// Throws Bug if `sorted` is empty.
int64_t quantile(const std::vector<int64_t>& sorted, double q);

}  // namespace roll
