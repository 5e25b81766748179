// Optimizer updates over a step's experience: mini-batches, their global counts, micro-batches, metrics. The same loop
// trains the actor, the critic and supervised fine-tuning; what differs is the loss of a micro-batch.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dist/mesh.h"
#include "experience/experience.h"
#include "loss/losses.h"
#include "optim/learner.h"
#include "track/metrics.h"
#include "track/progress.h"
#include "train/batches.h"

namespace roll {

struct UpdatePlan {
  std::string prefix;      // of the metrics: "actor", "critic", "sft"
  BatchRule rule;          // mini-batch -> micro-batches
  Partition mini_batches;  // sequence indices of the step, over all ranks
  int64_t num_groups = 0;  // prompts of the step
  bool apply_loss_scale = true;
  at::Device device = at::kCPU;
  std::vector<std::string> loss_mask_keys;
  std::string loss_mask;                       // the mask without whose tokens there is nothing to learn
  std::function<void(Experience&)> prepare{};  // adds what depends on the whole mini-batch; may be empty
  Phase phase{};
};

/// The masks of an experience by the names that loss_mask_keys may use.
using Masks = std::map<std::string, at::Tensor>;

/// The loss of one micro-batch (tensors on the plan's device) under the counts of its whole mini-batch.
using MicroBatchLoss = std::function<LossResult(const Experience& micro_batch, const MiniBatchCounts& counts)>;

/// One optimizer update per mini-batch, in order. Every rank holds the whole step, so the counts of a mini-batch are
/// global without a collective. Returns the metrics of the loss (per update summed over micro-batches and ranks, then
/// the mean over the updates), <prefix>/{grad_norm,lr} and those of packing_metrics.h and
/// comm_metrics.h; the same on every rank. A
/// mini-batch without a token under loss_mask makes no update and is counted as <prefix>/empty_mini_batches.
/// **Collective**. UserError: a loss_mask_key that is no mask.
Metrics run_updates(const Experience& step, const UpdatePlan& plan, Learner& learner, Mesh& mesh,
                    const std::function<Masks(const Experience&)>& masks, const MicroBatchLoss& micro_batch_loss);

/// Counts of all declared masks over a whole mini-batch.
MiniBatchCounts count_masks(const Masks& masks, const std::vector<std::string>& keys, const TokenAxis& axis,
                            int64_t num_groups);

/// This rank's metrics merged with those of all ranks. **Collective**.
Metrics merge_over_ranks(const Metrics& mine, Communicator& ranks);

}  // namespace roll
