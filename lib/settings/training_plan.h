// Lists the forward passes and updates of a training step as data. Checks, estimates, previews, forecasts and the step
// itself loop over these lists.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "settings/by_role.h"
#include "settings/config.h"

namespace roll {

/// Result that a forward pass computes for each token.
enum class Finding {
  kReference,    // log-probs of the frozen reference
  kTeacher,      // log-probs of a teacher, in on-policy distillation
  kOldLogProbs,  // log-probs of the policy before the step's updates
  kValues,       // values of the critic
  kTopTokens     // a teacher's likeliest tokens and their logits (`roll distill`)
};

/// Returns the name of such a pass in metrics: "reference" (also for teachers), "old_log_probs", "values", or "teacher"
/// for kTopTokens.
const char* phase_name(Finding finding);

/// A forward pass of one role over all sequences of a step.
struct PlannedPass {
  std::string role;  // key: "reference", "teacher.math", "actor_train", "critic"
  const WorkerConfig* worker;
  Finding finding;
  const TeacherConfig* teacher = nullptr;  // set for kTeacher

  const char* phase() const { return phase_name(finding); }
  /// Returns true if the pass computes logits.
  bool has_lm_head() const { return finding != Finding::kValues; }
};

/// A role that a run can train.
struct TrainableRole {
  const char* role;                 // key: "actor_train", "critic"
  const char* phase;                // name in the metrics of times: "train_actor", "train_critic"
  const char* metrics;              // prefix of the role's metrics: "actor", "critic"; its first letter is in timelines
  const char* loss_mask;            // name of the mask of tokens that the role's loss counts
  bool has_lm_head;                 // false for the critic, which computes values
  WorkerConfig Config::*worker;     // keys of the role
  bool (Config::*is_used)() const;  // true if the run trains the role
};
/// Returns all roles that a run can train, the policy first. To add one, write its row in training_plan.cpp.
std::span<const TrainableRole> trainable_roles();
/// Returns true if a run can train the role; the models of all other roles are frozen.
bool is_trained(const std::string& role);

/// A role that a step updates.
struct UpdatedRole {
  std::string role;         // "actor_train", "critic"
  const char* phase;        // name of its updates in metrics of time: "train_actor", "train_critic"
  const char* metrics;      // prefix of the role's metrics: "actor", "critic"
  bool has_lm_head = true;  // false for the critic, which computes values
  int64_t first_step = 1;   // the first step (from 1) that updates it; later for an actor with critic_warmup
};
/// A role that a step updates, with its configuration.
struct PlannedUpdate : UpdatedRole {
  const WorkerConfig* worker;
  const char* loss_mask;  // name of the mask of tokens that the loss counts
};

/// All passes of a step, then all updates, in the order in which they run; the policy is updated last.
struct TrainingPlan {
  std::vector<PlannedPass> passes;
  std::vector<PlannedUpdate> updates;

  /// Returns the first pass of `worker`; nullptr if it has none. Compares addresses, so `worker` must be the object in
  /// the configuration, not a copy.
  const PlannedPass* find_pass(const WorkerConfig& worker) const;
};

/// Returns the plan of each step of a complete configuration; empty if nothing is trained. It points into `config`,
/// which must outlive it.
TrainingPlan plan_training(const Config& config);

}  // namespace roll
