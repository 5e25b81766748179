// What a plan is worth: how full its micro-batches are, what alignment adds, how evenly ranks work. Pure functions of
// lengths, so that a preview and a training report the same numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/micro_batches.h"
#include "packing/shared_prompts.h"

namespace roll {

struct MicroBatchStats {
  int64_t num_sequences = 0;   // 0: a filler
  int64_t tokens = 0;          // that are computed, without padding
  int64_t aligned_tokens = 0;  // what the budget bounds
  double work = 0;             // of a forward, by PackOptions::workload
  int64_t shared_tokens = 0;   // that are not, as others stand for them
};

/// One batch (the mini-batch of an update, or all sequences of a forward) on all ranks.
struct BatchStats {
  int64_t budget = 0;                               // tokens of a micro-batch; 0: none
  std::vector<std::vector<MicroBatchStats>> ranks;  // [rank][micro-batch], equally many for each rank

  int64_t num_micro_batches() const;     // of each rank, fillers included
  int64_t num_fillers() const;           // over all ranks
  int64_t num_over_budget() const;       // always 0, or there is a bug
  int64_t tokens() const;                // useful ones of all ranks
  double work() const;                   // of all ranks
  std::vector<double> fills() const;     // useful tokens / budget of each micro-batch but fillers; empty: no budget
  double shared() const;                 // tokens for which others stand, as a share of the sequences' own
  double padding() const;                // tokens that alignment adds, as a share of all tokens
  double rank_imbalance() const;         // max / mean - 1 of the ranks' work
  double rank_imbalance_tokens() const;  // the same of their useful tokens
  double micro_batch_imbalance() const;  // the same of the work of all micro-batches but fillers
};

/// `plans` is [rank][micro-batch][sequence].
BatchStats batch_stats(const std::vector<Partition>& plans, const SequenceSizes& sizes, const PackOptions& options);

/// What padding costs instead: pieces of `size` sequences in the given order, each padded to its longest one.
double padded_work(const std::vector<int64_t>& lengths, int64_t size, const Workload& workload);

/// The lengths in 1..max(lengths) counted in at most `num_bins` intervals of equal, round width.
struct Histogram {
  int64_t width = 1;            // bin b holds the lengths in b * width + 1 ... (b + 1) * width
  std::vector<int64_t> counts;  // up to the bin of the longest
};
Histogram histogram(const std::vector<int64_t>& lengths, int64_t num_bins);

/// The value below or at which a share q of the sorted values lies (nearest rank); values must not be empty.
int64_t quantile(const std::vector<int64_t>& sorted, double q);

}  // namespace roll
