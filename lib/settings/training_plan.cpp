#include "settings/training_plan.h"

#include <algorithm>

#include "settings/batch_plan.h"
#include "settings/placement.h"

namespace roll {

const char* phase_name(Finding finding) {
  switch (finding) {
    case Finding::kReference:
    case Finding::kTeacher:
      return "reference";
    case Finding::kOldLogProbs:
      return "old_log_probs";
    case Finding::kValues:
      return "values";
    case Finding::kTopTokens:
      return "teacher";
  }
  return "";
}

const PlannedPass* TrainingPlan::find_pass(const WorkerConfig& worker) const {
  const auto found = std::ranges::find(passes, &worker, &PlannedPass::worker);
  return found == passes.end() ? nullptr : &*found;
}

std::span<const TrainableRole> trainable_roles() {
  static constexpr TrainableRole kRoles[] = {
      {.role = kPolicyRole,
       .phase = "train_actor",
       .metrics = "actor",
       .loss_mask = "final_response_mask",
       .has_lm_head = true,
       .worker = &Config::actor_train,
       .is_used = &Config::trains},
      {.role = kCriticRole,
       .phase = "train_critic",
       .metrics = "critic",
       .loss_mask = "response_mask",
       .has_lm_head = false,
       .worker = &Config::critic,
       .is_used = &Config::uses_critic},
  };
  return kRoles;
}

bool is_trained(const std::string& role) {
  return std::ranges::find(trainable_roles(), role, &TrainableRole::role) != trainable_roles().end();
}

TrainingPlan plan_training(const Config& config) {
  TrainingPlan plan;
  if (!config.trains()) return plan;
  const WorkerConfig &actor = config.actor_train, &critic = config.critic;
  auto teacher = config.teacher.begin();
  for (const auto& [role, worker] : reference_roles(config))
    if (config.distils())
      plan.passes.push_back({role, worker, Finding::kTeacher, &(teacher++)->second});
    else
      plan.passes.push_back({role, worker, Finding::kReference});
  if (config.enable_old_logprobs_recompute.value_or(false) || old_log_prob_reasons(config).any())
    plan.passes.push_back({kPolicyRole, &actor, Finding::kOldLogProbs});
  if (config.uses_critic()) plan.passes.push_back({kCriticRole, &critic, Finding::kValues});
  const auto roles = trainable_roles();
  for (auto row = roles.rbegin(); row != roles.rend(); ++row) {  // clang 14 has no std::views::reverse of a span
    const int64_t first_step = row->worker == &Config::actor_train ? config.critic_warmup + 1 : 1;
    if ((config.*row->is_used)())
      plan.updates.push_back({{row->role, row->phase, row->metrics, row->has_lm_head, first_step},
                              &(config.*row->worker),
                              row->loss_mask});
  }
  return plan;
}

}  // namespace roll
