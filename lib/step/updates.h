// Runs optimizer updates over a step's sequences: mini-batches, global counts, micro-batches, metrics. Used for actor,
// critic, fine-tuned and distilled models, which differ only in their loss.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dist/mesh.h"
#include "experience/experience.h"
#include "loss/losses.h"
#include "optim/learner.h"
#include "step/batches.h"
#include "track/metrics.h"
#include "track/progress.h"

namespace roll {

/// Settings of all updates of a model.
struct UpdateSettings {
  std::string prefix;                        // metrics' prefix: "actor", "critic", "sft", ...
  std::string loss_mask;                     // a mini-batch without tokens in this mask makes no update
  std::vector<std::string> counted_masks{};  // counted over each whole mini-batch
  std::vector<WeightRule> weights{};         // loss's weights that are sent to the device with the tokens
  bool needs_signs = false;                  // sends the signs of sequences' scores to the device
  bool apply_loss_scale = true;
  int64_t max_nonfinite_updates = 0;
  std::optional<uint64_t> dropout_seed{};  // for adapters; null: no dropout
};

/// Updates of a step to run.
struct UpdatePlan {
  UpdateSettings settings;
  BatchRule rule{};          // splits a mini-batch into micro-batches
  Partition mini_batches{};  // sequence indices in the step, over all ranks
  SequenceSizes sizes{};     // sizes of the step's sequences, over all ranks
  int64_t num_groups = 0;    // prompts per step
  at::Device device = at::kCPU;
  Phase phase{};
  int64_t step = 0;
  int64_t num_done = 0;  // mini-batches of the step in earlier plans
  /// Returns the file from which the step's updates can be replayed; called on the first rank if an update is skipped.
  std::function<std::string()> source{};
  std::function<at::Tensor()> empty_pass{};           // returns the loss 0 of an empty micro-batch; null: not needed
  std::function<void(bool was_made)> after_update{};  // called after each tried update; may be null
};

/// Loss of one micro-batch (tensors on the plan's device), given the counts of its whole mini-batch.
using MicroBatchLoss = std::function<LossResult(const Experience& micro_batch, const MiniBatchCounts& counts)>;

/// Runs one optimizer update per mini-batch, in order. `experience`: at least the sequences that this rank computes
/// (plan_ranks() of each mini-batch). `prepare`, if set, adds data that depends on the whole mini-batch to this rank's
/// part.
/// Returns the loss's metrics (summed over micro-batches and ranks, then averaged over updates),
/// <prefix>/{grad_norm,lr} and those of step_metrics.h, the same on every rank. A mini-batch without tokens in
/// loss_mask is left out and counted in <prefix>/empty_mini_batches. An update with a non-finite loss or gradient is
/// skipped with a warning and counted in <prefix>/skipped_updates.
/// **Collective**. UserError: a loss_mask_key is no mask. SystemError: more than max_nonfinite_updates skipped in a
/// row.
using Prepare = std::function<void(Experience& rank_part, const std::vector<int64_t>& mini_batch)>;
Metrics run_updates(const Experience& experience, const UpdatePlan& plan, Learner& learner, Mesh& mesh,
                    const MicroBatchLoss& micro_batch_loss, const Prepare& prepare = {});

/// Counts the given masks over a whole mini-batch. UserError: the batch has no such mask.
MiniBatchCounts count_masks(const Batch& mini_batch, const std::vector<std::string>& keys, int64_t num_groups);
/// Counts the given masks over a mini-batch that `ranks` share; `rank_part`: this rank's part. **Collective** over
/// them.
MiniBatchCounts count_masks(const Batch& rank_part, const std::vector<std::string>& keys, int64_t num_groups,
                            Communicator& ranks);

}  // namespace roll
