// What frozen models say of a step before its first update: log-probs of the policy as it is and of the reference, and
// the critic's values.
#pragma once

#include "base/log.h"
#include "step/rl_step.h"
#include "step/step_models.h"
#include "track/metrics.h"

namespace roll {

/// Which are wanted, and how each role cuts its share into micro-batches.
struct ForwardSettings {
  bool old_log_probs = false;  // left out where the current ones will do (settings/batch_plan.h)
  bool ref_log_probs = false;
  bool values = false;
  BatchRule actor{}, reference{}, critic{};
};

/// Fills old_log_probs, ref_log_probs and values of `step.here`, whose home names learners: the sequences go to each
/// role's ranks by its forward plan, results come back to where the sequences are. Times go to `metrics`.
/// **Collective** over the learners.
void run_forwards(RlStep& step, const ForwardSettings& settings, const StepModels& models, LearnerMeshes& meshes,
                  Log& log, Metrics& metrics);

/// Mean |log-prob - sampler's log-prob| over response tokens and its largest value, where `log_probs` [T] are the
/// trainer's before the step's first update: its kernels and weights against the sampler's. Of these sequences, for
/// merging.
void add_sampler_gap(const Experience& here, const at::Tensor& log_probs, Metrics& metrics);

}  // namespace roll
