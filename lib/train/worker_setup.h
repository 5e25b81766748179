// From a worker's keys to what its training takes.
#pragma once

#include "model/spec.h"
#include "optim/learner.h"
#include "settings/config.h"
#include "train/updates.h"

namespace roll {

/// The worker's optimizer; its schedule ends after `total_updates`.
LearnerOptions learner_options(const WorkerConfig& worker, double max_grad_norm, int64_t total_updates);

/// The worker's updates; their mini-batches, num_groups and loss_mask are still to be set.
UpdatePlan update_plan(std::string prefix, const WorkerConfig& worker, const LossConfig& loss, const ModelSpec& spec,
                       at::Device device);

}  // namespace roll
