#include "settings/step_cost.h"

#include <fmt/format.h>

#include <utility>

#include "model/mtp.h"
#include "optim/learner.h"
#include "settings/agentic.h"
#include "settings/batch_plan.h"
#include "settings/training_plan.h"

namespace roll {

namespace {

/// Returns the FLOPs of a forward pass over all sequences of the step.
double step_forward_flops(const Config& config, const ModelSpec& spec, bool with_lm_head) {
  const int64_t rows = with_lm_head ? config.response_length.value_or(0) : 0;
  return static_cast<double>(config.sequences_per_step() * most_contexts(config)) *
         spec.forward_flops(config.sequence_length.value_or(0), rows);
}

}  // namespace

StepCost step_cost(const Config& config, const RoleShapes& models) {
  StepCost cost;
  cost.tokens =
      static_cast<double>(config.sequences_per_step() * most_contexts(config) * config.sequence_length.value_or(0));
  cost.sampling = step_forward_flops(config, policy_shape(models), /*with_lm_head=*/true);
  const TrainingPlan plan = plan_training(config);
  for (const PlannedPass& pass : plan.passes)
    if (pass.finding != Finding::kValues || models.contains(pass.role))
      cost.forwards += step_forward_flops(config, shape_of_role(models, pass.role), pass.has_lm_head());
  for (const PlannedUpdate& update : plan.updates) {
    const auto spec = models.find(update.role);
    if (spec == models.end()) continue;
    const double recomputed = update.worker->recomputation().recomputed_share(spec->second.num_layers);
    cost.training += static_cast<double>(config.ppo_epochs) *
                     step_forward_flops(config, spec->second, update.has_lm_head) * (3 + recomputed);
    if (update.has_lm_head)
      cost.training +=
          static_cast<double>(config.ppo_epochs * config.sequences_per_step() * most_contexts(config)) *
          MtpTrainingFlops(spec->second)(config.sequence_length.value_or(0), config.response_length.value_or(0));
    cost.training +=
        static_cast<double>(updates_per_step(config, *update.worker)) * muon_flops(*update.worker, spec->second);
  }
  return cost;
}

double muon_flops(const WorkerConfig& worker, const ModelSpec& spec) {
  if (!worker.training_args.uses_muon()) return 0;
  double flops = 0;
  const auto parameters = shared_policy_parameters(spec);
  for (const ParameterShape& parameter : *parameters)
    if (parameter.is_projection && !is_frozen(parameter.name, worker.model_args.freeze_module_prefix))
      flops += muon_flops(parameter.shape[0], parameter.shape[1], worker.training_args.muon.num_steps);
  return flops;
}

std::string cost_text(const StepCost& cost) {
  const auto [unit, name] = cost.total() < 1e12   ? std::pair(1e9, "GFLOP")
                            : cost.total() < 1e15 ? std::pair(1e12, "TFLOP")
                                                  : std::pair(1e15, "PFLOP");
  return fmt::format(
      "a step of full-length sequences: {:.0f} tokens, {:.3g} {} (sampling {:.3g}, log-probs and values {:.3g}, "
      "training {:.3g})",
      cost.tokens, cost.total() / unit, name, cost.sampling / unit, cost.forwards / unit, cost.training / unit);
}

}  // namespace roll
