// Runs optimizer updates over a step's sequences: mini-batches, counts over all ranks, micro-batches, metrics. Used by
// role_trainer.h for actor, critic, fine-tuned and distilled models, which differ only in their loss.
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
  std::string prefix;     // prefix of the metrics: "actor", "critic", "sft", ...
  std::string loss_mask;  // name of the mask of trained tokens; a mini-batch without any makes no update
  std::vector<std::string> counted_masks{};  // names of masks that the loss needs counts of, besides loss_mask
  std::vector<WeightRule> weights{};         // token weights of the loss that go to a GPU with the tokens
  bool needs_signs = false;                  // the signs of the sequences' scores go to a GPU, too
  bool apply_loss_scale = true;              // true: losses as they are; false: divided by the number of micro-batches
  int64_t max_nonfinite_updates = 0;         // most updates in a row that may be skipped for a non-finite loss
  std::optional<uint64_t> dropout_seed{};    // for adapters; null: no dropout
};

/// Updates of a step to run; equal on all ranks of the mesh.
struct UpdatePlan {
  UpdateSettings settings;
  BatchRule rule{};              // distributes a mini-batch to ranks and into micro-batches
  Partition mini_batches{};      // sequence indices in the step, over all ranks
  SequenceSizes sizes{};         // sizes of the step's sequences, over all ranks
  int64_t num_groups = 0;        // prompts per step
  at::Device device = at::kCPU;  // device of the model
  Phase phase{};                 // log, also for warnings, and title of the progress display; no log: neither
  int64_t step = 0;              // number of the step, for warnings
  int64_t num_done = 0;          // mini-batches of the step in earlier plans, for warnings
  /// Returns the file from which the step's updates can be replayed; called on the first rank if an update is skipped.
  /// May be null.
  std::function<std::string()> source{};
  /// Takes part in the model's collectives if this rank's micro-batch is empty and others' are not, and returns the
  /// loss 0; null: not needed.
  std::function<at::Tensor()> empty_pass{};
  /// Called after each update, made or skipped, but not for empty mini-batches; may be null.
  std::function<void(bool was_made)> after_update{};
};

/// Function that returns the loss of one micro-batch (tensors on the plan's device), to be summed over micro-batches
/// and ranks. counts: of the whole mini-batch, over all ranks.
using MicroBatchLoss = std::function<LossResult(const Experience& micro_batch, const MiniBatchCounts& counts)>;

/// Adds data that depends on the whole mini-batch to this rank's part. mini_batch: sequence indices in the step.
using Prepare = std::function<void(Experience& rank_part, const std::vector<int64_t>& mini_batch)>;

/// Runs one optimizer update per mini-batch, in order. experience: at least the sequences that this rank computes
/// (plan_ranks() of each mini-batch). prepare: called before each update; may be null.
/// Returns the loss's metrics (summed over micro-batches and ranks, then averaged over updates),
/// <prefix>/{grad_norm,grad_clip_coef,lr} and those of step_metrics.h, the same on every rank. A mini-batch without
/// tokens in loss_mask is left out and counted in <prefix>/empty_mini_batches. An update with a non-finite loss or
/// gradient is skipped with a warning and counted in <prefix>/skipped_updates. Throws UserError if the experience lacks
/// a counted mask, SystemError if more than max_nonfinite_updates updates in a row are skipped. **Collective** over the
/// mesh.
Metrics run_updates(const Experience& experience, const UpdatePlan& plan, Learner& learner, Mesh& mesh,
                    const MicroBatchLoss& micro_batch_loss, const Prepare& prepare = {});

/// Returns the counts of the masks with these names over a mini-batch that is all on this rank. num_groups: prompts per
/// step. Throws UserError if the batch has no such mask.
MiniBatchCounts count_masks(const Batch& mini_batch, const std::vector<std::string>& keys, int64_t num_groups);
/// Returns the same over a mini-batch that is distributed over `ranks`. rank_part: this rank's part. All ranks get the
/// same counts. **Collective** over `ranks`.
MiniBatchCounts count_masks(const Batch& rank_part, const std::vector<std::string>& keys, int64_t num_groups,
                            Communicator& ranks);

}  // namespace roll
