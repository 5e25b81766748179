#include "step/step_settings.h"

#include <algorithm>
#include <cmath>

#include "checkpoint/hub_cache.h"
#include "model/device.h"
#include "packing/alignment.h"
#include "pipeline/split_rule.h"
#include "settings/batch_plan.h"
#include "settings/placement.h"
#include "settings/training_plan.h"

namespace roll {

namespace {

RolePlaces make_places(const Config& config) {
  RolePlaces places{.roles = {{kPolicyRole, role_place(config.actor_train)}},
                    .sampler = role_place(config.actor_infer),
                    .learners = learner_ranks(config),
                    .sampler_copies = {}};
  for (const auto& [role, worker] : learning_roles(config)) places.roles[role] = role_place(*worker);
  // Sampled sequences start short and grow token by token, so the sampler has no context ranks.
  places.sampler.shape.cp = 1;
  for (const int rank : places.sampler.ranks)
    if (!shares_weights(config, rank)) places.sampler_copies.push_back(rank);
  return places;
}

LrSchedule make_schedule(const TrainingArgs& args, int64_t total_updates) {
  const auto ratio_steps = static_cast<int64_t>(std::ceil(args.warmup_ratio * static_cast<double>(total_updates)));
  return {.type = args.lr_scheduler_type,
          .peak_lr = args.learning_rate,
          .warmup_steps = args.warmup_steps > 0 ? args.warmup_steps : ratio_steps,
          .total_steps = total_updates,
          .args = args.lr_scheduler_kwargs};
}

TrainingSettings training_settings(const Config& config, const PlannedUpdate& update) {
  const WorkerConfig& worker = *update.worker;
  // Only the policy's keys set `policy` and pg_loss_reducer.
  RoleLossSettings loss{loss_settings(config.loss, worker.policy), worker.loss_func, worker.pg_loss_reducer};
  UpdateSettings updates{.prefix = update.metrics, .loss_mask = update.loss_mask};
  updates.apply_loss_scale = worker.apply_loss_scale;
  updates.counted_masks = loss.built_in.counted_masks;
  if (worker.strategy_args.strategy_config.mtp_loss_coef > 0) updates.counted_masks.emplace_back("response_mask");
  updates.weights = role_weight_rules(update.role, loss.built_in);
  updates.needs_signs = loss.built_in.policy.pg_variant->needs_sign;
  updates.max_nonfinite_updates = config.max_nonfinite_updates;
  updates.dropout_seed = dropout_seed(worker, config.seed);
  return {.key = update.role,
          .epochs = epoch_rule(config, worker),
          .learner = learner_options(worker, config.max_grad_norm,
                                     (config.num_steps() + 1 - update.first_step) * updates_per_step(config, worker)),
          .loss = std::move(loss),
          .updates = std::move(updates)};
}

/// Returns the replayed files, else those in the run folder unless configured otherwise.
RolloutFiles rollout_files(const Config& config) {
  const int64_t groups = std::ssize(config.actor_infer.ranks) / mesh_shape(config.actor_infer).tp;
  return {.folder = config.rollout_replay.value_or(config.rollout_dump_dir.value_or("rollouts")),
          .ending = config.rollout_replay || groups <= 1 ? ".jsonl" : "-*.jsonl"};
}

}  // namespace

RolePlace role_place(const WorkerConfig& worker) {
  const StrategyConfig& strategy = worker.strategy_args.strategy_config;
  return {worker.ranks, mesh_shape(worker),
          [strategy](int64_t num_layers) { return stage_split(strategy, num_layers); }};
}

RoleSource role_source(const WorkerConfig& worker, at::Device device) {
  return {model_folder(worker.model_args.model_name_or_path.value()), model_dtype(worker.model_args, device)};
}

RouterRule router_rule(const StrategyConfig& strategy) {
  const double bias_step = strategy.moe_router_bias_update_rate;
  return {.costs = {.balance = strategy.moe_aux_loss_coeff, .z = strategy.moe_z_loss_coeff},
          .loads = bias_step > 0 ? std::make_shared<ExpertLoads>(bias_step) : nullptr};
}

StepSettings step_settings(const Config& config) {
  const double temperature = config.actor_infer.generating_args.temperature;
  StepSettings settings{.places = make_places(config),
                        .num_groups = config.prompts_per_step(),
                        .group_size = config.num_return_sequences_in_group,
                        .replays_routing = config.routing_replay.value_or(false),
                        .replay = config.rollout_replay.value_or(""),
                        .rollouts = rollout_files(config),
                        .models = {.temperature = temperature == 0 ? 1.0 : temperature,
                                   .with_energies = old_log_prob_reasons(config).energies},
                        .forwards = forward_settings(config),
                        .experience = config.experience,
                        .updates = {}};
  for (const PlannedUpdate& update : plan_training(config).updates) {
    const WorkerConfig& worker = *update.worker;
    settings.updates.push_back({static_cast<const UpdatedRole&>(update), training_settings(config, update)});
    settings.models.trained[update.role] = {
        .recomputes = worker.recomputation(),
        .with_entropy = update.role == kPolicyRole,
        .gathers = worker.gathers_layers(),
        .mtp_loss_coef = update.role == kPolicyRole ? worker.strategy_args.strategy_config.mtp_loss_coef : 0,
        .routers = update.role == kPolicyRole ? router_rule(worker.strategy_args.strategy_config) : RouterRule()};
  }
  return settings;
}

const TrainingSettings* StepSettings::find_training(const std::string& role) const {
  const auto found = std::ranges::find(updates, role, &RoleUpdates::role);
  return found == updates.end() ? nullptr : &found->training;
}

RoleSources role_sources(const Config& config, at::Device device) {
  RoleSources sources{.longest_sequence = config.longest_sequence()};
  const auto add = [&](const std::string& role, const WorkerConfig& worker) {
    RoleSource& source = sources.roles[role] = role_source(worker, device);
    if (is_trained(role)) source.lora = make_lora_spec(worker.model_args, config.seed);
    source.trains_mtp = role == kPolicyRole && worker.strategy_args.strategy_config.mtp_loss_coef > 0;
  };
  add(kPolicyRole, config.actor_train);
  for (const auto& [role, worker] : learning_roles(config)) add(role, *worker);
  return sources;
}

ForwardSettings forward_settings(const Config& config) {
  OldLogProbReasons reasons = old_log_prob_reasons(config);
  ForwardSettings settings;
  for (const PlannedPass& pass : plan_training(config).passes) {
    settings.passes.push_back({pass.role, pass.finding, batch_rule(*pass.worker, Stage::kForward)});
    if (pass.finding == Finding::kOldLogProbs && reasons.energies) settings.passes.back().width = 2;
    if (!pass.teacher) continue;
    settings.passes.back().domains = pass.teacher->domains;
    settings.passes.back().kl_coef = pass.teacher->opd_kl_coef.value_or(1);
  }
  reasons.dump = false;  // dumping has no effect on training
  if (config.distils())
    settings.teacher_kl = {config.experience.kl_penalty,
                           !config.enable_old_logprobs_recompute.value_or(false) && !reasons.any()};
  return settings;
}

EpochRule epoch_rule(const Config& config, const WorkerConfig& worker) {
  return {.mini_batch = worker.mini_batch(),
          .group_size = needs_whole_groups(loss_modes(config.loss)) ? config.num_return_sequences_in_group : 1,
          .seed = static_cast<uint64_t>(config.seed),
          .num_epochs = config.ppo_epochs,
          .num_ranks = worker.data_ranks(),
          .micro_batches = batch_rule(worker, Stage::kTrain)};
}

BatchRule batch_rule(const WorkerConfig& worker, Stage stage) {
  const PackingArgs& args = worker.packing;
  const SequencePackingArgs& packing = args.sequence_packing_args;
  const bool trains = stage == Stage::kTrain;
  BatchRule rule{.num_sequences = trains ? worker.micro_batch() : worker.infer_batch_size};
  const StrategyConfig& layout = worker.strategy_args.strategy_config;
  rule.packing.alignment = sequence_alignment(layout.context_parallel(), layout.tensor_parallel());
  const std::optional<int64_t> budget = args.budget(trains);
  rule.is_packed = budget.has_value();
  rule.packing.share_prompts = args.share_prompts;
  rule.packing.budget = budget.value_or(0);
  rule.unshared = trains && layout.mtp_loss_coef > 0 ? 1 : 0;  // the head also predicts the token after the next one
  if (args.use_sequence_packing) {
    rule.packing.algorithm = packing.algorithm;
    rule.packing.min_num_micro_batches =
        trains ? packing.min_num_micro_batches_train : packing.min_num_micro_batches_forward;
  }
  return rule;
}

std::optional<uint64_t> dropout_seed(const WorkerConfig& worker, int64_t seed) {
  return worker.model_args.lora_dropout > 0 ? std::optional(static_cast<uint64_t>(seed)) : std::nullopt;
}

LearnerOptions learner_options(const WorkerConfig& worker, double max_grad_norm, int64_t total_updates) {
  const TrainingArgs& args = worker.training_args;
  return {.adamw = {.beta1 = args.adam_beta1,
                    .beta2 = args.adam_beta2,
                    .epsilon = args.adam_epsilon,
                    .weight_decay = args.weight_decay},
          .muon = args.uses_muon() ? std::optional(args.muon) : std::nullopt,
          .schedule = make_schedule(args, total_updates),
          .max_grad_norm = max_grad_norm,
          .frozen_prefixes = worker.model_args.freeze_module_prefix,
          .gathers_layers = worker.gathers_layers(),
          .shares_optimizer = worker.strategy_args.strategy_config.use_distributed_optimizer};
}

}  // namespace roll
