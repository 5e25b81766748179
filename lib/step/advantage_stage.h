// Rollouts -> experience: the forward passes that a configuration needs, then rewards per token and advantages.
#pragma once

#include "base/log.h"
#include "dist/communicator.h"
#include "experience/build.h"
#include "step/learners.h"
#include "step/redistribution.h"
#include "step/roles.h"

namespace roll {

/// What the stage runs, decided once from the configuration.
struct ForwardNeeds {
  bool old_log_probs = false;
  bool ref_log_probs = false;
  bool values = false;
};

/// Old log-probs are left out where the current ones will do (batch_plan.h) and enable_old_logprobs_recompute does not
/// force them.
ForwardNeeds forward_needs(const Config& config);

/// The temperature of log-probs: the sampler's, or 1 when it is greedy (one definition for sampler and trainer).
double log_prob_temperature(const Config& config);

/// Fills old_log_probs, ref_log_probs and values of `here`, this rank's share under `home` (ranks among learners): the
/// sequences go to each role's ranks by its forward plan, results come back to where the sequences are. Times go to
/// `metrics`. **Collective** over the learners.
void run_forwards(Experience& here, const StepFacts& step, const Distribution& home, const Config& config,
                  const Roles& roles, const ForwardNeeds& needs, const LearnerMeshes& meshes, at::Device device,
                  Log& log, Metrics& metrics);

/// Mean |log-prob - sampler's log-prob| over response tokens and its largest value, where `log_probs` [T] are the
/// trainer's before the step's first update: its kernels and weights against the sampler's. Of these sequences, for
/// merging.
void add_sampler_gap(const Experience& here, const at::Tensor& log_probs, Metrics& metrics);

}  // namespace roll
