// Who computes what: sequences -> data-parallel ranks -> micro-batches. Pure functions of lengths, so every rank knows
// every rank's plan and nothing is communicated.
#pragma once

#include <cstdint>
#include <vector>

#include "model/spec.h"
#include "packing/micro_batches.h"
#include "settings/config.h"

namespace roll {

enum class Stage { kTrain, kForward };

/// How one worker cuts its share of sequences into micro-batches.
struct BatchRule {
  bool is_packed = false;
  PackOptions packing;        // when packed: the token budget
  int64_t num_sequences = 8;  // else: sequences of a micro-batch (computed without padding all the same)
  Workload workload;          // FLOPs of a sequence in this worker's model
};

/// FLOPs of a sequence.
Workload workload_of(const ModelSpec& spec);

/// From the worker's packing keys (or their dynamic-batching spelling), per_device_train_batch_size (kTrain) and
/// infer_batch_size (kForward).
BatchRule batch_rule(const WorkerConfig& worker, Stage stage, const Workload& workload);
inline BatchRule batch_rule(const WorkerConfig& worker, Stage stage, const ModelSpec& spec) {
  return batch_rule(worker, stage, workload_of(spec));
}

/// [rank][micro-batch][i]: indices into `lengths`. Ranks get equal work (and counts that differ by one at most), and
/// every rank the same number of micro-batches (some may be empty). UserError: a sequence longer than the budget.
std::vector<Partition> plan_ranks(const std::vector<int64_t>& lengths, const BatchRule& rule, int64_t num_ranks);

/// The mini-batches of one pass over `num_sequences` sequences: a shuffle named by (seed, step, epoch), cut into pieces
/// of `size`. `group_size` > 1 shuffles whole groups of that many neighbours (prompt-mean needs them together).
/// UserError when `size` does not divide num_sequences, or group_size does not divide `size`.
Partition plan_mini_batches(int64_t num_sequences, int64_t size, int64_t group_size, uint64_t seed, int64_t step,
                            int64_t epoch);

}  // namespace roll
