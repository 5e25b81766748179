#include "step/worker_setup.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace roll {

namespace {
constexpr double kSameRate = 1e-9;  // of it: another C library may round a cosine otherwise
}

LrSchedule schedule_of(const TrainingArgs& args, int64_t total_updates) {
  const auto by_ratio = static_cast<int64_t>(std::ceil(args.warmup_ratio * static_cast<double>(total_updates)));
  return {.type = args.lr_scheduler_type,
          .peak_lr = args.learning_rate,
          .warmup_steps = args.warmup_steps > 0 ? args.warmup_steps : by_ratio,
          .total_steps = total_updates};
}

void tell_schedule(const std::string& role, const Json& learner, const LrSchedule& now, Log& log) {
  const auto before = learner.find("next_lr");
  const double next = now.at(learner.at("updates").get<int64_t>());
  if (before == learner.end() || !before->is_number() || std::abs(next - before->get<double>()) <= kSameRate * next)
    return;
  log.warn(
      "{}: the learning rate goes on at {:.3g}; as the checkpoint's run was configured, its next update would have had "
      "{:.3g} (lr_scheduler_type = {} over {} updates now)",
      role, next, before->get<double>(), name_of(now.type), now.total_steps);
}

LearnerOptions learner_options(const WorkerConfig& worker, double max_grad_norm, int64_t total_updates) {
  const TrainingArgs& args = worker.training_args;
  return {.adamw = {.beta1 = args.adam_beta1,
                    .beta2 = args.adam_beta2,
                    .epsilon = args.adam_epsilon,
                    .weight_decay = args.weight_decay},
          .schedule = schedule_of(args, total_updates),
          .max_grad_norm = max_grad_norm,
          .frozen_prefixes = worker.model_args.freeze_module_prefix,
          .shares_optimizer = worker.strategy_args.strategy_config.use_distributed_optimizer};
}

UpdatePlan update_plan(std::string prefix, const WorkerConfig& worker, const LossSettings& loss, const ModelSpec& spec,
                       at::Device device) {
  UpdatePlan plan;
  plan.prefix = std::move(prefix);
  plan.rule = batch_rule(worker, Stage::kTrain, spec);
  plan.apply_loss_scale = worker.apply_loss_scale;
  plan.device = device;
  plan.counted_masks = loss.counted_masks;
  return plan;
}

}  // namespace roll
