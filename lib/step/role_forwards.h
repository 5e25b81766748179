// What frozen models say of a step before its first update: log-probs of the policy as it is, of the reference or the
// teachers, and the critic's values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "loss/config.h"
#include "settings/training_plan.h"
#include "step/rl_step.h"
#include "step/step_models.h"
#include "track/metrics.h"

namespace roll {

/// A pass of a role over a step's sequences.
struct RolePass {
  std::string role;
  Finding finds = Finding::kReference;
  BatchRule rule{};                    // how it cuts its share into micro-batches
  std::vector<std::string> domains{};  // whose responses; empty: all
  double kl_coef = 1;                  // of a teacher
  int64_t width = 1;                   // numbers that it finds of a token: 2 with energies
};

/// How teachers' log-probs become a KL.
struct TeacherKl {
  KlPenalty penalty = KlPenalty::kKl;
  bool from_sampler = false;  // the policy's log-probs are the sampler's, as the trainer computes none before training
};

struct ForwardSettings {
  std::vector<RolePass> passes{};
  std::optional<TeacherKl> teacher_kl{};  // where teachers are among the passes
};

/// Fills old_log_probs, energies, ref_log_probs or teacher_kl, taught, and values of `step.here`, whose home names
/// learners: the sequences go to each role's ranks by its forward plan, results come back to where the sequences are.
/// Times go to `metrics`.
/// **Collective** over the learners.
void run_forwards(RlStep& step, const ForwardSettings& settings, const StepModels& models, ByRole<RoleMesh>& learners,
                  Log& log, Metrics& metrics);

/// Mean |log-prob - sampler's log-prob| over response tokens and its largest value, where `log_probs` [T] are the
/// trainer's before the step's first update: its kernels and weights against the sampler's. Of these sequences, for
/// merging.
void add_sampler_gap(const Experience& here, const at::Tensor& log_probs, Metrics& metrics);

}  // namespace roll
