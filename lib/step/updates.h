// Optimizer updates over a step's sequences: mini-batches, their global counts, micro-batches, metrics. The same loop
// trains actor, critic, fine-tuned and distilled models; only the loss of a micro-batch differs.
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

/// What holds for all updates of a trained model.
struct UpdateSettings {
  std::string prefix;                        // of the metrics: "actor", "critic", "sft", ...
  std::string loss_mask;                     // the mask without whose tokens there is nothing to learn
  std::vector<std::string> counted_masks{};  // over each whole mini-batch
  std::vector<WeightRule> weights{};         // of the loss, to go to a device with the tokens
  bool needs_signs = false;                  // of sequences' scores, likewise
  bool apply_loss_scale = true;
  int64_t max_nonfinite_updates = 0;
  std::optional<uint64_t> dropout_seed{};  // of adapters; null: they are trained without dropout
};

/// Some updates of a step.
struct UpdatePlan {
  UpdateSettings settings;
  BatchRule rule{};          // mini-batch -> micro-batches
  Partition mini_batches{};  // sequence indices of the step, over all ranks
  SequenceSizes sizes{};     // of the step's sequences, over all ranks
  int64_t num_groups = 0;    // prompts of the step
  at::Device device = at::kCPU;
  Phase phase{};
  int64_t step = 0;
  int64_t num_done = 0;  // mini-batches of the step that earlier plans held
  /// The file from which the step's updates can be made again; asked on the first rank, when one is skipped.
  std::function<std::string()> source{};
  std::function<at::Tensor()> empty_pass{};            // the loss of an empty micro-batch: 0; null: it needs none
  std::function<void(bool was_made)> behind_update{};  // of each that was tried; null: nothing is to be done
};

/// The loss of one micro-batch (tensors on the plan's device) under the counts of its whole mini-batch.
using MicroBatchLoss = std::function<LossResult(const Experience& micro_batch, const MiniBatchCounts& counts)>;

/// One optimizer update per mini-batch, in order. `here`: at least the sequences of the step that this rank computes
/// (plan_ranks of each mini-batch). `prepare`, where given, adds to this rank's part of a mini-batch what depends on
/// the whole of it, whose sequences it is told. Returns the metrics of the loss (per update summed over micro-batches
/// and ranks, then the mean over the updates), <prefix>/{grad_norm,lr} and those of
/// step_metrics.h; the same on every rank. A mini-batch without a token under loss_mask makes no update and is counted
/// as <prefix>/empty_mini_batches; one whose loss or gradient is not finite neither, is counted as
/// <prefix>/skipped_updates and told. **Collective**. UserError: a loss_mask_key that is no mask. SystemError: more
/// than max_nonfinite_updates skipped in a row.
using Prepare = std::function<void(Experience& own, const std::vector<int64_t>& mini_batch)>;
Metrics run_updates(const Experience& here, const UpdatePlan& plan, Learner& learner, Mesh& mesh,
                    const MicroBatchLoss& micro_batch_loss, const Prepare& prepare = {});

/// Counts of the declared masks over a whole mini-batch. UserError: the batch has no such mask.
MiniBatchCounts count_masks(const Batch& mini_batch, const std::vector<std::string>& keys, int64_t num_groups);
/// Of a mini-batch that `ranks` share out, of which `own` is here. **Collective** over them.
MiniBatchCounts count_masks(const Batch& own, const std::vector<std::string>& keys, int64_t num_groups,
                            Communicator& ranks);

}  // namespace roll
