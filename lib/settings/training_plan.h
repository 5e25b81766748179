// Lists the forward passes and updates of a training step as data. Checks, estimates, previews, forecasts and the step
// itself loop over these lists.
#pragma once

#include <string>
#include <vector>

#include "settings/by_role.h"
#include "settings/config.h"

namespace roll {

/// Result of a forward pass for each token.
enum class Finding { kReference, kTeacher, kOldLogProbs, kValues, kTopTokens };

/// Returns the pass's name in metrics: "reference", "old_log_probs", "values", "teacher".
const char* phase_name(Finding finds);

struct PlannedPass {
  std::string role;  // key: "reference", "teacher.math", "actor_train", "critic"
  const WorkerConfig* worker;
  Finding finds;
  const TeacherConfig* teacher = nullptr;  // set for kTeacher

  const char* phase() const { return phase_name(finds); }
  /// True if the pass computes logits.
  bool has_lm_head() const { return finds != Finding::kValues; }
};

/// A role that a step updates.
struct UpdatedRole {
  std::string role;             // "actor_train", "critic"
  const char *phase, *metrics;  // "train_actor"; prefix of the metrics: "actor"
  bool has_lm_head = true;
  int64_t first_step = 1;
};
struct PlannedUpdate : UpdatedRole {
  const WorkerConfig* worker;
};

/// Passes and updates, each in the step's order.
struct TrainingPlan {
  std::vector<PlannedPass> passes;
  std::vector<PlannedUpdate> updates;

  /// Returns the role's own pass before its update; nullptr if it has none.
  const PlannedPass* find_pass(const WorkerConfig& worker) const;
};

/// Returns the training plan of a complete configuration, with pointers into it; empty if nothing is trained.
TrainingPlan plan_training(const Config& config);

}  // namespace roll
