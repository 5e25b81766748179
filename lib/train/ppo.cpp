#include "train/ppo.h"

#include <ATen/ATen.h>

#include "model/log_probs.h"
#include "settings/batch_plan.h"
#include "train/advantage_stage.h"
#include "train/rollout_record.h"
#include "train/worker_setup.h"

namespace roll {

namespace {

/// Runs the plan; the first update alone when it is to be looked at.
Metrics run_plan(const Experience& step, UpdatePlan plan, Learner& learner, Mesh& mesh,
                 const MicroBatchLoss<Experience>& loss, FirstUpdates* first,
                 const std::function<void(Experience&)>& prepare = {}) {
  if (!first) return run_updates(step, plan, learner, mesh, loss, prepare);
  const Partition rest(plan.mini_batches.begin() + 1, plan.mini_batches.end());
  plan.mini_batches.resize(1);
  learner.keep_gradients(true);
  Metrics metrics = run_updates(step, plan, learner, mesh, loss, prepare);
  learner.keep_gradients(false);
  for (const auto& [name, gradient] : learner.kept_gradient())
    first->gradients.emplace_back(plan.prefix + "." + name, gradient.to(at::kCPU));
  first->traces.emplace_back(plan.prefix, learner.trace());
  plan.mini_batches = rest;
  plan.num_done = 1;
  metrics.merge(run_updates(step, plan, learner, mesh, loss, prepare));
  return metrics;
}

/// Where the step's rollouts are, from which rollout_replay makes the step again; in the run folder, where nothing says
/// otherwise.
std::filesystem::path rollouts_file(const Config& config, int64_t step) {
  return numbered(config.rollout_replay.value_or(config.rollout_dump_dir.value_or("rollouts")), "step_", step,
                  ".jsonl");
}

/// What a skipped update needs to be told.
void complete_plan(UpdatePlan& plan, const Config& config, int64_t step, Log& log) {
  plan.step = step;
  plan.max_nonfinite_updates = config.max_nonfinite_updates;
  plan.log = &log;
  plan.source = [&config, step] { return rollouts_file(config, step).string(); };
}

}  // namespace

Partition step_mini_batches(const Config& config, const WorkerConfig& worker, int64_t num_sequences, int64_t step) {
  const int64_t group_size = needs_whole_groups(loss_modes(config.loss)) ? config.num_return_sequences_in_group : 1;
  Partition all;
  for (int64_t epoch = 0; epoch < config.ppo_epochs; ++epoch)
    for (auto& mini_batch : plan_mini_batches(num_sequences, worker.mini_batch(), group_size,
                                              static_cast<uint64_t>(config.seed), step, epoch))
      all.push_back(std::move(mini_batch));
  return all;
}

ActorTrainer::ActorTrainer(const Config& config, Transformer& model, Mesh& mesh, Log& log)
    : config_(config),
      model_(model),
      mesh_(mesh),
      log_(log),
      learner_(
          "actor_train", model.parameters(),
          learner_options(config.actor_train, config.max_grad_norm,
                          (config.max_steps - config.critic_warmup) * updates_per_step(config, config.actor_train)),
          {mesh, model.parts()}),
      loss_(config) {}

Metrics ActorTrainer::train(const Experience& step, int64_t num_groups, int64_t step_number, FirstUpdates* first) {
  const double temperature = log_prob_temperature(config_);
  const bool recompute = config_.actor_train.recomputes();
  UpdatePlan plan = update_plan("actor", config_.actor_train, config_.loss, model_.spec(), model_.device());
  plan.mini_batches = step_mini_batches(config_, config_.actor_train, step.num_sequences(), step_number);
  plan.num_groups = num_groups;
  plan.loss_mask = "final_response_mask";
  plan.phase = {&log_, "train actor"};
  complete_plan(plan, config_, step_number, log_);
  const auto loss = [&](const Experience& e, const MiniBatchCounts& counts) {
    const auto out = token_log_probs(model_, e.tokens, temperature, /*with_entropy=*/true, recompute,
                                     e.response_mask().to(at::kBool));
    return loss_(e, out, counts);
  };
  return run_plan(step, plan, learner_, mesh_, loss, first, [&](Experience& mini_batch) { loss_.prepare(mini_batch); });
}

CriticTrainer::CriticTrainer(const Config& config, ValueModel& model, Mesh& mesh, Log& log)
    : config_(config),
      model_(model),
      mesh_(mesh),
      log_(log),
      learner_("critic", model.parameters(),
               learner_options(config.critic, config.max_grad_norm,
                               config.max_steps * updates_per_step(config, config.critic)),
               {mesh, model.parts()}),
      loss_(config) {}

Metrics CriticTrainer::train(const Experience& step, int64_t num_groups, int64_t step_number, FirstUpdates* first) {
  const bool recompute = config_.critic.recomputes();
  UpdatePlan plan = update_plan("critic", config_.critic, config_.loss, model_.spec(), model_.device());
  plan.mini_batches = step_mini_batches(config_, config_.critic, step.num_sequences(), step_number);
  plan.num_groups = num_groups;
  plan.loss_mask = "response_mask";
  plan.phase = {&log_, "train critic"};
  complete_plan(plan, config_, step_number, log_);
  const auto loss = [&](const Experience& e, const MiniBatchCounts& counts) {
    return loss_(e, model_.values(e.tokens, recompute), counts);
  };
  return run_plan(step, plan, learner_, mesh_, loss, first);
}

}  // namespace roll
