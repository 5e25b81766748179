#include "train/worker_setup.h"

#include <cmath>

namespace roll {

LearnerOptions learner_options(const WorkerConfig& worker, double max_grad_norm, int64_t total_updates) {
  const TrainingArgs& args = worker.training_args;
  const auto by_ratio = static_cast<int64_t>(std::ceil(args.warmup_ratio * static_cast<double>(total_updates)));
  return {.adamw = {.beta1 = args.adam_beta1,
                    .beta2 = args.adam_beta2,
                    .epsilon = args.adam_epsilon,
                    .weight_decay = args.weight_decay},
          .schedule = {.type = args.lr_scheduler_type,
                       .peak_lr = args.learning_rate,
                       .warmup_steps = args.warmup_steps > 0 ? args.warmup_steps : by_ratio,
                       .total_steps = total_updates},
          .max_grad_norm = max_grad_norm,
          .frozen_prefixes = worker.model_args.freeze_module_prefix,
          .shares_optimizer = worker.strategy_args.strategy_config.use_distributed_optimizer};
}

UpdatePlan update_plan(std::string prefix, const WorkerConfig& worker, const LossConfig& loss, const ModelSpec& spec,
                       at::Device device) {
  UpdatePlan plan;
  plan.prefix = std::move(prefix);
  plan.rule = batch_rule(worker, Stage::kTrain, spec);
  plan.apply_loss_scale = worker.apply_loss_scale;
  plan.device = device;
  plan.loss_mask_keys = loss.loss_mask_keys;
  return plan;
}

}  // namespace roll
