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

/// One role's forward pass over a step's sequences.
struct RolePass {
  std::string role;                       // key of the role: "reference", "teacher.math", "actor_train", "critic"
  Finding finding = Finding::kReference;  // result of the pass; run_forwards() says where it is stored
  BatchRule rule{};                       // distributes the sequences to the role's ranks and into micro-batches
  std::vector<std::string> domains{};     // only sequences of these domains are computed; empty: all
  double kl_coef = 1;                     // kTeacher: factor of the teacher's KL
  int64_t width = 1;  // values per token: 2 for kOldLogProbs with energies, 2k for kTopTokens with k tokens, else 1
};

/// How teachers' log-probs become Experience::teacher_kl.
struct TeacherKl {
  KlPenalty penalty = KlPenalty::kKl;  // estimator of the KL
  bool from_sampler = false;           // true: the KL's policy log-probs are the sampler's; false: old_log_probs
};

/// All passes of a step.
struct ForwardSettings {
  std::vector<RolePass> passes{};         // in the order in which they run
  std::optional<TeacherKl> teacher_kl{};  // set if a pass finds kTeacher
};

/// Runs the passes and stores their results in step.experience:
///   finding         member of step.experience                     metric (seconds)
///   kReference      ref_log_probs                                 time/ref_log_probs
///   kTeacher        teacher_kl, the sum over all teachers         time/ref_log_probs, the sum over all teachers
///   kOldLogProbs    old_log_probs; with width 2, energies, too    time/old_log_probs
///   kValues         values                                        time/values
///   kTopTokens      taught                                        time/teacher
/// Sends each sequence's tokens to the ranks of the role that compute it. Sends the results back to the ranks that
/// step.home names for the sequence; they must be numbered in the learners' communicator. meshes:
/// RoleMeshes::roles_among_learners. log: shows progress. Also adds packing metrics to `metrics`. **Collective** over
/// the learners.
void run_forwards(RlStep& step, const ForwardSettings& settings, const StepModels& models, ByRole<RoleMesh>& meshes,
                  Log& log, Metrics& metrics);

/// Adds actor/sampler_log_prob_gap/{mean,max} of |log_probs - experience.sampler_log_probs| over this rank's response
/// tokens; nothing if it has none. The gap shows differences between trainer and sampler in kernels or weights.
/// log_probs [T]: the trainer's, nats, before the first update of the step. The caller merges the metrics over ranks
/// (merge_over_ranks()).
void add_sampler_gap(const Experience& experience, const at::Tensor& log_probs, Metrics& metrics);

}  // namespace roll
