// What a step does once its responses are there, as data: which models say what of them, and which are then updated.
// Checks, estimates, previews, forecasts and the step itself go through these lists.
#pragma once

#include <string>
#include <vector>

#include "settings/by_role.h"
#include "settings/config.h"

namespace roll {

/// What a forward pass finds out of each token.
enum class Finding { kReference, kTeacher, kOldLogProbs, kValues, kTopTokens };

/// As metrics of packing, traffic and time name such a pass: "reference", "old_log_probs", "values", "teacher".
const char* phase_of(Finding finds);

struct PlannedPass {
  std::string role;  // by its key: "reference", "teacher.math", "actor_train", "critic"
  const WorkerConfig* worker;
  Finding finds;
  const TeacherConfig* teacher = nullptr;  // of kTeacher

  const char* phase() const { return phase_of(finds); }
  /// Whether it multiplies by the vocabulary.
  bool has_lm_head() const { return finds != Finding::kValues; }
};

/// A role that a step updates.
struct UpdatedRole {
  std::string role;             // "actor_train", "critic"
  const char *phase, *metrics;  // "train_actor", and how the metrics begin: "actor"
  bool has_lm_head = true;
  int64_t first_step = 1;
};
struct PlannedUpdate : UpdatedRole {
  const WorkerConfig* worker;
};

/// Each in the order of the step.
struct TrainingPlan {
  std::vector<PlannedPass> passes;
  std::vector<PlannedUpdate> updates;

  /// What that role computes before it is trained; null: nothing.
  const PlannedPass* pass_of(const WorkerConfig& worker) const;
};

/// Of a configuration that is complete, into which the plan points. Empty where nothing is trained.
TrainingPlan plan_training(const Config& config);

}  // namespace roll
