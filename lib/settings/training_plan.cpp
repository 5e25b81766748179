#include "settings/training_plan.h"

#include <algorithm>

#include "settings/batch_plan.h"
#include "settings/placement.h"

namespace roll {

const char* phase_of(Finding finds) {
  return finds == Finding::kOldLogProbs ? "old_log_probs" : finds == Finding::kValues ? "values" : "reference";
}

const PlannedPass* TrainingPlan::find(Finding what) const {
  const auto found = std::ranges::find(passes, what, &PlannedPass::finds);
  return found == passes.end() ? nullptr : &*found;
}

const PlannedPass* TrainingPlan::pass_of(const WorkerConfig& worker) const {
  const auto found = std::ranges::find(passes, &worker, &PlannedPass::worker);
  return found == passes.end() ? nullptr : &*found;
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
  if (config.uses_critic()) {
    plan.passes.push_back({kCriticRole, &critic, Finding::kValues});
    plan.updates.push_back({kCriticRole, &critic, "train_critic", "critic", /*has_lm_head=*/false});
  }
  plan.updates.push_back({.role = kPolicyRole,
                          .worker = &actor,
                          .phase = "train_actor",
                          .metrics = "actor",
                          .first_step = config.critic_warmup + 1});
  return plan;
}

}  // namespace roll
