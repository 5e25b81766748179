#include "train/ppo.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "model/log_probs.h"
#include "train/advantage_stage.h"
#include "train/roles.h"

namespace roll {

namespace {

int64_t updates_of(const Config& config, const WorkerConfig& worker, int64_t num_ranks) {
  return config.ppo_epochs * std::max<int64_t>(1, config.sequences_per_step() / worker.mini_batch(num_ranks));
}

/// Runs the plan; the first update alone when its gradient is wanted.
Metrics run_plan(const Experience& step, UpdatePlan plan, Learner& learner, Mesh& mesh, const MicroBatchLoss& loss,
                 NamedTensors* gradients) {
  if (!gradients) return run_updates(step, plan, learner, mesh, response_masks, loss);
  const Partition rest(plan.mini_batches.begin() + 1, plan.mini_batches.end());
  plan.mini_batches.resize(1);
  learner.keep_gradients(true);
  Metrics metrics = run_updates(step, plan, learner, mesh, response_masks, loss);
  learner.keep_gradients(false);
  for (const auto& [name, gradient] : learner.kept_gradient())
    gradients->emplace_back(plan.prefix + "." + name, gradient.to(at::kCPU));
  plan.mini_batches = rest;
  metrics.merge(run_updates(step, plan, learner, mesh, response_masks, loss));
  return metrics;
}

}  // namespace

Partition step_mini_batches(const Config& config, const WorkerConfig& worker, int64_t num_sequences, int64_t step,
                            int64_t num_ranks) {
  const int64_t group_size = needs_whole_groups(loss_modes(config.loss)) ? config.num_return_sequences_in_group : 1;
  Partition all;
  for (int64_t epoch = 0; epoch < config.ppo_epochs; ++epoch)
    for (auto& mini_batch : plan_mini_batches(num_sequences, worker.mini_batch(num_ranks), group_size,
                                              static_cast<uint64_t>(config.seed), step, epoch))
      all.push_back(std::move(mini_batch));
  return all;
}

int64_t updates_per_step(const Config& config, int64_t num_ranks) {
  return updates_of(config, config.actor_train, num_ranks);
}

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

ActorTrainer::ActorTrainer(const Config& config, Transformer& model, Mesh& mesh, Log& log)
    : config_(config),
      model_(model),
      mesh_(mesh),
      log_(log),
      learner_("actor_train", model.parameters(),
               learner_options(config.actor_train, config.max_grad_norm,
                               (config.max_steps - config.critic_warmup) *
                                   updates_of(config, config.actor_train, mesh.world().size())),
               {mesh, model.parts()}),
      loss_(config) {}

Metrics ActorTrainer::train(const Experience& step, int64_t num_groups, int64_t step_number, NamedTensors* gradients) {
  const double temperature = log_prob_temperature(config_);
  const bool recompute = config_.actor_train.recomputes();
  const UpdatePlan plan{.prefix = "actor",
                        .rule = batch_rule(config_.actor_train, Stage::kTrain, model_.spec()),
                        .mini_batches = step_mini_batches(config_, config_.actor_train, step.num_sequences(),
                                                          step_number, mesh_.world().size()),
                        .num_groups = num_groups,
                        .apply_loss_scale = config_.actor_train.apply_loss_scale,
                        .device = model_.device(),
                        .loss_mask_keys = config_.loss.loss_mask_keys,
                        .loss_mask = "final_response_mask",
                        .prepare = [&](Experience& mini_batch) { loss_.prepare(mini_batch); },
                        .phase = {&log_, "train actor"}};
  const auto loss = [&](const Experience& e, const MiniBatchCounts& counts) {
    const auto out =
        token_log_probs(model_, e.tokens, temperature, /*with_entropy=*/true, recompute, e.response_mask.to(at::kBool));
    return loss_(e, out, counts);
  };
  return run_plan(step, plan, learner_, mesh_, loss, gradients);
}

CriticTrainer::CriticTrainer(const Config& config, ValueModel& model, Mesh& mesh, Log& log)
    : config_(config),
      model_(model),
      mesh_(mesh),
      log_(log),
      learner_("critic", model.parameters(),
               learner_options(config.critic, config.max_grad_norm,
                               config.max_steps * updates_of(config, config.critic, mesh.world().size())),
               {mesh, model.parts()}),
      loss_(config) {}

Metrics CriticTrainer::train(const Experience& step, int64_t num_groups, int64_t step_number, NamedTensors* gradients) {
  const bool recompute = config_.critic.recomputes();
  const UpdatePlan plan{.prefix = "critic",
                        .rule = batch_rule(config_.critic, Stage::kTrain, model_.spec()),
                        .mini_batches = step_mini_batches(config_, config_.critic, step.num_sequences(), step_number,
                                                          mesh_.world().size()),
                        .num_groups = num_groups,
                        .apply_loss_scale = config_.critic.apply_loss_scale,
                        .device = model_.device(),
                        .loss_mask_keys = config_.loss.loss_mask_keys,
                        .loss_mask = "response_mask",
                        .prepare = {},
                        .phase = {&log_, "train critic"}};
  const auto loss = [&](const Experience& e, const MiniBatchCounts& counts) {
    return loss_(e, model_.values(e.tokens, recompute), counts);
  };
  return run_plan(step, plan, learner_, mesh_, loss, gradients);
}

}  // namespace roll
