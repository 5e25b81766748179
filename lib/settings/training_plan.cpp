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
    plan.updates.push_back({{kCriticRole, "train_critic", "critic", /*has_lm_head=*/false}, &critic});
  }
  plan.updates.push_back(
      {{kPolicyRole, "train_actor", "actor", /*has_lm_head=*/true, config.critic_warmup + 1}, &actor});
  return plan;
}

}  // namespace roll
