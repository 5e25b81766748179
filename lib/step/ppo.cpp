#include "step/ppo.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>

#include "model/log_probs.h"
#include "records/rollout_record.h"
#include "settings/batch_plan.h"
#include "step/advantage_stage.h"
#include "step/roles.h"
#include "step/token_samples.h"
#include "step/worker_setup.h"

namespace roll {

namespace {

/// Runs the plan; the first update alone when it is to be looked at.
Metrics run_plan(const Experience& here, UpdatePlan plan, Learner& learner, Mesh& mesh,
                 const MicroBatchLoss<Experience>& loss, FirstUpdates* first, const Prepare<Experience>& prepare) {
  if (!first) return run_updates(here, plan, learner, mesh, loss, prepare);
  const Partition rest(plan.mini_batches.begin() + 1, plan.mini_batches.end());
  plan.mini_batches.resize(1);
  learner.keep_gradients(true);
  Metrics metrics = run_updates(here, plan, learner, mesh, loss, prepare);
  learner.keep_gradients(false);
  for (const auto& [name, gradient] : learner.kept_gradient())
    first->gradients.emplace_back(plan.prefix + "." + name, gradient.to(at::kCPU));
  first->traces.emplace_back(plan.prefix, learner.trace());
  first->losses.emplace_back(plan.prefix, learner.last_loss());
  plan.mini_batches = rest;
  plan.num_done = 1;
  metrics.merge(run_updates(here, plan, learner, mesh, loss, prepare));
  return metrics;
}

/// All epochs of a step.
Metrics run_epochs(const Config& config, const WorkerConfig& worker, const ModelSpec& spec, TrainingStep step,
                   UpdatePlan plan, Learner& learner, Mesh& mesh, const MicroBatchLoss<Experience>& loss,
                   FirstUpdates* first, const Prepare<Experience>& prepare = {}) {
  plan.lengths = step.facts.lengths();
  plan.num_groups = step.num_groups;
  Metrics metrics;
  for (int64_t epoch = 0; epoch < config.ppo_epochs; ++epoch) {
    Distribution wanted{mesh_groups(mesh.world().size(), mesh.shape()),
                        epoch_shares(config, worker, spec, plan.lengths, step.number, epoch)};
    step.here = redistribute(step.here, step.facts, step.at, wanted, mesh.world());
    step.at = std::move(wanted);
    plan.mini_batches = epoch_mini_batches(config, worker, step.facts.num_sequences(), step.number, epoch);
    metrics.merge(run_plan(step.here, plan, learner, mesh, loss, epoch == 0 ? first : nullptr, prepare));
    plan.num_done += std::ssize(plan.mini_batches);
  }
  return metrics;
}

/// Where the step's rollouts are, from which rollout_replay makes the step again; in the run folder, where nothing says
/// otherwise.
std::filesystem::path rollouts_file(const Config& config, int64_t step) {
  const int64_t groups = std::ssize(config.actor_infer.ranks) / mesh_shape(config.actor_infer).tp;
  return numbered(config.rollout_replay.value_or(config.rollout_dump_dir.value_or("rollouts")), "step_", step,
                  config.rollout_replay || groups <= 1 ? ".jsonl" : "-*.jsonl");
}

/// What a skipped update needs to be told.
void complete_plan(UpdatePlan& plan, const Config& config, int64_t step, Log& log) {
  plan.step = step;
  plan.max_nonfinite_updates = config.max_nonfinite_updates;
  plan.log = &log;
  plan.source = [&config, step] { return rollouts_file(config, step).string(); };
}

}  // namespace

Partition epoch_mini_batches(const Config& config, const WorkerConfig& worker, int64_t num_sequences, int64_t step,
                             int64_t epoch) {
  const int64_t group_size = needs_whole_groups(loss_modes(config.loss)) ? config.num_return_sequences_in_group : 1;
  return plan_mini_batches(num_sequences, worker.mini_batch(), group_size, static_cast<uint64_t>(config.seed), step,
                           epoch);
}

Partition step_mini_batches(const Config& config, const WorkerConfig& worker, int64_t num_sequences, int64_t step) {
  Partition all;
  for (int64_t epoch = 0; epoch < config.ppo_epochs; ++epoch)
    std::ranges::move(epoch_mini_batches(config, worker, num_sequences, step, epoch), std::back_inserter(all));
  return all;
}

std::vector<std::vector<Partition>> epoch_plans(const Config& config, const WorkerConfig& worker, const ModelSpec& spec,
                                                const std::vector<int64_t>& lengths, int64_t step, int64_t epoch) {
  const BatchRule rule = batch_rule(worker, Stage::kTrain, spec);
  std::vector<std::vector<Partition>> all;
  for (const auto& mini_batch : epoch_mini_batches(config, worker, std::ssize(lengths), step, epoch)) {
    auto& plans = all.emplace_back(plan_ranks(picked(lengths, mini_batch), rule, worker.data_ranks()));
    for (Partition& of_rank : plans)
      for (auto& micro_batch : of_rank)
        for (int64_t& i : micro_batch) i = mini_batch[i];
  }
  return all;
}

Partition epoch_shares(const Config& config, const WorkerConfig& worker, const ModelSpec& spec,
                       const std::vector<int64_t>& lengths, int64_t step, int64_t epoch) {
  return shares_of(epoch_plans(config, worker, spec, lengths, step, epoch));
}

int64_t actor_updates(const Config& config) {
  return (config.max_steps - config.critic_warmup) * updates_per_step(config, config.actor_train);
}

int64_t critic_updates(const Config& config) {
  return config.max_steps * updates_per_step(config, config.critic);
}

TrainedPolicy trained(const Config& config, Transformer& model, Mesh& mesh) {
  const double temperature = log_prob_temperature(config);
  const bool recompute = config.actor_train.recomputes();
  return {model.parameters(),
          {mesh, model.parts()},
          model.spec(),
          model.device(),
          [&model, temperature, recompute](const Experience& e) {
            return token_log_probs(model, e.tokens, temperature, /*with_entropy=*/true, recompute,
                                   e.response_mask().to(at::kBool));
          }};
}

TrainedCritic trained(const Config& config, ValueModel& model, Mesh& mesh) {
  return {model.parameters(),
          {mesh, model.parts()},
          model.spec(),
          model.device(),
          [&model, recompute = config.critic.recomputes()](const Experience& e) {
            return model.values(e.tokens, recompute);
          }};
}

ActorTrainer::ActorTrainer(const Config& config, TrainedPolicy policy, Mesh& mesh, Log& log)
    : config_(config),
      policy_(std::move(policy)),
      mesh_(mesh),
      log_(log),
      learner_("actor_train", policy_.parameters,
               learner_options(config.actor_train, config.max_grad_norm, actor_updates(config)), policy_.ranks),
      loss_(config) {}

Metrics ActorTrainer::train(TrainingStep step, FirstUpdates* first, TokenSamples& samples) {
  UpdatePlan plan = update_plan("actor", config_.actor_train, loss_.settings(), policy_.spec, policy_.device);
  plan.loss_mask = "final_response_mask";
  plan.phase = {&log_, "train actor"};
  complete_plan(plan, config_, step.number, log_);
  const auto loss = [&](const Experience& e, const MiniBatchCounts& counts) {
    const TokenLogProbs out = policy_.forward(e);
    samples.take(e, out.log_probs);
    LossResult result = loss_(e, out, counts);
    // Without a pass for old log-probs the step has one update, whose log-probs these are.
    if (!e.old_log_probs.defined()) add_sampler_gap(e, out.log_probs.detach(), result.metrics);
    return result;
  };
  const Prepare<Experience> prepare = weigh_samples(step.facts, step.here, loss_.settings(), mesh_.dp());
  return run_epochs(config_, config_.actor_train, policy_.spec, std::move(step), std::move(plan), learner_, mesh_, loss,
                    first, prepare);
}

CriticTrainer::CriticTrainer(const Config& config, TrainedCritic critic, Mesh& mesh, Log& log)
    : config_(config),
      critic_(std::move(critic)),
      mesh_(mesh),
      log_(log),
      learner_("critic", critic_.parameters,
               learner_options(config.critic, config.max_grad_norm, critic_updates(config)), critic_.ranks),
      loss_(config) {}

Metrics CriticTrainer::train(TrainingStep step, FirstUpdates* first) {
  UpdatePlan plan = update_plan("critic", config_.critic, loss_.settings(), critic_.spec, critic_.device);
  plan.loss_mask = "response_mask";
  plan.phase = {&log_, "train critic"};
  complete_plan(plan, config_, step.number, log_);
  const auto loss = [&](const Experience& e, const MiniBatchCounts& counts) {
    return loss_(e, critic_.forward(e), counts);
  };
  return run_epochs(config_, config_.critic, critic_.spec, std::move(step), std::move(plan), learner_, mesh_, loss,
                    first);
}

}  // namespace roll
