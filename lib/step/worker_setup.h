// From a worker's keys to what its training takes.
#pragma once

#include "base/json.h"
#include "base/log.h"
#include "loss/settings.h"
#include "model/spec.h"
#include "optim/learner.h"
#include "settings/config.h"
#include "step/updates.h"

namespace roll {

/// The worker's learning rate over a run of `total_updates`.
LrSchedule schedule_of(const TrainingArgs& args, int64_t total_updates);

/// Warns where the run goes on with another learning rate than the one that its checkpoint would have come to next:
/// max_steps and what else shapes the schedule may change. `learner` is Learner::state() there.
void tell_schedule(const std::string& role, const Json& learner, const LrSchedule& now, Log& log);

/// The worker's optimizer; its schedule ends after `total_updates`.
LearnerOptions learner_options(const WorkerConfig& worker, double max_grad_norm, int64_t total_updates);

/// The worker's updates; their mini-batches, num_groups and loss_mask are still to be set.
UpdatePlan update_plan(std::string prefix, const WorkerConfig& worker, const LossSettings& loss, const ModelSpec& spec,
                       at::Device device);

}  // namespace roll
