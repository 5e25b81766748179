// Forward passes before the first update of a step: old log-probs, log-probs of the reference or teachers, and the
// critic's values.
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

/// Pass of a role over a step's sequences.
struct RolePass {
  std::string role;
  Finding finds = Finding::kReference;
  BatchRule rule{};                    // splits the role's share into micro-batches
  std::vector<std::string> domains{};  // only responses of these domains; empty: all
  double kl_coef = 1;                  // teacher's coefficient
  int64_t width = 1;                   // values per token: 2 with energies
};

/// How teachers' log-probs become a KL.
struct TeacherKl {
  KlPenalty penalty = KlPenalty::kKl;
  bool from_sampler = false;  // use the sampler's log-probs, because old log-probs are not computed
};

struct ForwardSettings {
  std::vector<RolePass> passes{};
  std::optional<TeacherKl> teacher_kl{};  // set if a pass is a teacher's
};

/// Fills old_log_probs, energies, ref_log_probs or teacher_kl, taught, and values of `step.experience`. Sequences move
/// to each role's ranks by its forward plan; results move back. step.home must name learners' ranks. Adds times to
/// `metrics`. **Collective** over the learners.
void run_forwards(RlStep& step, const ForwardSettings& settings, const StepModels& models, ByRole<RoleMesh>& learners,
                  Log& log, Metrics& metrics);

/// Adds the mean and maximum of |log-prob - sampler's log-prob| over response tokens, which compares kernels and
/// weights of trainer and sampler. `log_probs` [T]: the trainer's before the first update. The metrics are to be merged
/// over ranks.
void add_sampler_gap(const Experience& experience, const at::Tensor& log_probs, Metrics& metrics);

}  // namespace roll
