#include "settings/step_cost.h"

#include <fmt/format.h>

#include <utility>

#include "settings/agentic.h"
#include "settings/batch_plan.h"
#include "settings/placement.h"

namespace roll {

namespace {

/// A forward pass over all sequences of the step.
double forward_of_step(const Config& config, const ModelSpec& spec, bool with_lm_head) {
  const int64_t rows = with_lm_head ? config.response_length.value_or(0) : 0;
  return static_cast<double>(config.sequences_per_step() * most_contexts(config)) *
         spec.forward_flops(config.sequence_length.value_or(0), rows);
}

double training_of(const Config& config, const WorkerConfig& worker, const ModelSpec& spec, double forward) {
  return static_cast<double>(config.ppo_epochs) * forward * (3 + worker.recomputation().share_of(spec.num_layers));
}

}  // namespace

StepCost step_cost(const Config& config, const PlannedModels& models) {
  StepCost cost;
  const double policy = forward_of_step(config, models.policy, /*with_lm_head=*/true);
  cost.tokens =
      static_cast<double>(config.sequences_per_step() * most_contexts(config) * config.sequence_length.value_or(0));
  cost.sampling = policy;
  if (!config.trains()) return cost;
  const bool is_asked = config.enable_old_logprobs_recompute.value_or(false);
  if (is_asked || old_log_prob_reasons(config).any()) cost.forwards += policy;
  for (size_t i = 0; i < reference_roles(config).size(); ++i)
    cost.forwards += forward_of_step(config, reference_spec(models, i), /*with_lm_head=*/true);
  cost.training = training_of(config, config.actor_train, models.policy, policy);
  if (config.uses_critic() && models.critic) {
    const double critic = forward_of_step(config, *models.critic, /*with_lm_head=*/false);
    cost.forwards += critic;
    cost.training += training_of(config, config.critic, *models.critic, critic);
  }
  return cost;
}

std::string cost_text(const StepCost& cost) {
  const auto [unit, name] = cost.total() < 1e12   ? std::pair(1e9, "GFLOP")
                            : cost.total() < 1e15 ? std::pair(1e12, "TFLOP")
                                                  : std::pair(1e15, "PFLOP");
  return fmt::format(
      "a step of full length: {:.0f} tokens, {:.3g} {} (sampling {:.3g}, log-probs and values {:.3g}, "
      "training {:.3g})",
      cost.tokens, cost.total() / unit, name, cost.sampling / unit, cost.forwards / unit, cost.training / unit);
}

}  // namespace roll
