// Forward passes before the first update of a step: old log-probs, log-probs of the reference or teachers, and the
// critic's values. Called by StepTrainer::run_passes().
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

/// Pass of a role's model over a step's sequences.
struct RolePass {
  std::string role;                       // key of the role: "reference", "teacher.math", "actor_train", "critic"
  Finding finding = Finding::kReference;  // result of the pass, which decides the tensor that it fills
  BatchRule rule{};                       // distributes the sequences to the role's ranks and into micro-batches
  std::vector<std::string> domains{};     // computes only responses of these domains; empty: all
  double kl_coef = 1;                     // kTeacher: factor of the teacher's KL
  int64_t width = 1;                      // values per token: 2 with energies, 2k for a teacher's top k tokens, else 1
};

/// How teachers' log-probs become Experience::teacher_kl.
struct TeacherKl {
  KlPenalty penalty = KlPenalty::kKl;  // estimator of the KL
  bool from_sampler = false;           // the policy's log-probs are the sampler's; false: old_log_probs
};

/// All passes of a step.
struct ForwardSettings {
  std::vector<RolePass> passes{};         // in the order in which they run
  std::optional<TeacherKl> teacher_kl{};  // set if a pass finds kTeacher
};

/// Runs the passes and fills those of old_log_probs, energies, ref_log_probs, teacher_kl, taught and values of
/// step.experience that they compute. Copies of the sequences' tokens move to each role's ranks; results move back to
/// step.home, which must name ranks of the learners' communicator. learners: meshes of the roles in that communicator.
/// log: shows progress. Adds time/<result> and packing metrics to `metrics`. **Collective** over the learners.
void run_forwards(RlStep& step, const ForwardSettings& settings, const StepModels& models, ByRole<RoleMesh>& learners,
                  Log& log, Metrics& metrics);

/// Adds actor/sampler_log_prob_gap/{mean,max}: of |log_probs - sampler_log_probs| over this rank's response tokens,
/// which shows differences between trainer and sampler in kernels or weights. log_probs [T]: the trainer's, before the
/// first update of the step. The caller merges the metrics over ranks (merge_over_ranks()).
void add_sampler_gap(const Experience& experience, const at::Tensor& log_probs, Metrics& metrics);

}  // namespace roll
