// Runs optimizer updates over a step's sequences: cuts mini-batches into micro-batches, counts tokens over all ranks,
// calls the loss, and makes metrics. Used by role_trainer.h for actor, critic, fine-tuned and distilled models, which
// differ only in their loss.
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
  std::string loss_mask;  // name of the mask of trained tokens; a mini-batch without such tokens makes no update
  std::vector<std::string>
      counted_masks{};                // names of masks that the loss needs counts of; loss_mask is counted in any case
  std::vector<WeightRule> weights{};  // token weights of the loss that go to a GPU with the tokens
  bool needs_signs = false;           // the signs of the sequences' scores also go to a GPU with the tokens
  bool apply_loss_scale = true;       // true: losses as they are; false: divided by the number of micro-batches
  int64_t max_nonfinite_updates = 0;  // most updates in a row that may be skipped for a non-finite loss
  std::optional<uint64_t> dropout_seed{};  // seed of the adapters' dropout; nullopt: no dropout
};

/// Updates of a step to run; equal on all ranks of the mesh.
struct UpdatePlan {
  UpdateSettings settings;
  BatchRule rule{};              // distributes a mini-batch to ranks and into micro-batches
  Partition mini_batches{};      // [mini-batch][i] sequence indices in the step, over all ranks
  SequenceSizes sizes{};         // sizes of the step's sequences, over all ranks
  int64_t num_groups = 0;        // prompts per step
  at::Device device = at::kCPU;  // device of the model
  Phase phase{};                 // log of progress and warnings, and title of the progress; no log: neither is shown
  int64_t step = 0;              // number of the step, for warnings
  int64_t num_done = 0;          // mini-batches of the step in earlier plans, for warnings
  /// RlStep::source, called on the first rank if an update is skipped; may be null.
  std::function<std::string()> source{};
  /// Takes part in the model's collectives if this rank's micro-batch is empty and others' are not, and returns the
  /// loss 0; null: not needed.
  std::function<at::Tensor()> empty_pass{};
  /// Called after each update, made or skipped, but not for empty mini-batches; may be null.
  std::function<void(bool was_made)> after_update{};
};

/// Returns the loss of one micro-batch, whose tensors are on the plan's device; losses are summed over micro-batches
/// and ranks. counts: of the whole mini-batch, over all ranks.
using MicroBatchLoss = std::function<LossResult(const Experience& micro_batch, const MiniBatchCounts& counts)>;

/// Adds data that depends on the whole mini-batch to rank_part, which holds this rank's sequences. mini_batch: sequence
/// indices in the step, over all ranks.
using Prepare = std::function<void(Experience& rank_part, const std::vector<int64_t>& mini_batch)>;

/// Runs one optimizer update per mini-batch, in order. experience: at least the sequences that this rank computes
/// (plan_ranks() of each mini-batch). prepare: called before each update; may be null. Returns the loss's metrics
/// (summed over micro-batches and ranks, then averaged over updates), <prefix>/{grad_norm,grad_clip_coef,lr}, those of
/// step_metrics.h and memory/<prefix>/optimizer_bytes. All are the same on every rank, except this rank's bytes and the
/// times of add_reduction_metrics(). A mini-batch without tokens in loss_mask is left out and counted in
/// <prefix>/empty_mini_batches; the learning-rate schedule still advances. An update with a non-finite loss or gradient
/// is skipped with a warning and counted in <prefix>/skipped_updates. Throws UserError if the experience lacks a
/// counted mask, SystemError if more than max_nonfinite_updates updates in a row are skipped. **Collective** over the
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
