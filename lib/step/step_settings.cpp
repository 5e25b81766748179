#include "step/step_settings.h"

#include <algorithm>
#include <cmath>

#include "checkpoint/hub_cache.h"
#include "model/device.h"
#include "packing/alignment.h"
#include "pipeline/split_rule.h"
#include "settings/batch_plan.h"
#include "settings/placement.h"

namespace roll {

namespace {

RolePlaces places_of(const Config& config) {
  RolePlaces places{.actor = role_place(config.actor_train),
                    .critic = role_place(config.uses_critic() ? config.critic : config.actor_train),
                    .sampler = role_place(config.actor_infer),
                    .references = {},
                    .learners = learner_ranks(config),
                    .sampler_copies = {}};
  // The sampler's sequences are short to begin with and grow token by token: only its weights are shared out.
  places.sampler.shape.cp = 1;
  for (const auto& [name, worker] : reference_roles(config)) places.references.push_back(role_place(*worker));
  for (const int rank : places.sampler.ranks)
    if (!shares_weights(config, rank)) places.sampler_copies.push_back(rank);
  return places;
}

LrSchedule schedule_of(const TrainingArgs& args, int64_t total_updates) {
  const auto by_ratio = static_cast<int64_t>(std::ceil(args.warmup_ratio * static_cast<double>(total_updates)));
  return {.type = args.lr_scheduler_type,
          .peak_lr = args.learning_rate,
          .warmup_steps = args.warmup_steps > 0 ? args.warmup_steps : by_ratio,
          .total_steps = total_updates,
          .args = args.lr_scheduler_kwargs};
}

/// `num_steps`: in which it is trained.
TrainingSettings training_settings(const Config& config, const WorkerConfig& worker, int64_t num_steps,
                                   RoleLossSettings loss, UpdateSettings updates) {
  updates.apply_loss_scale = worker.apply_loss_scale;
  updates.counted_masks = loss.built_in.counted_masks;
  updates.weights = (&worker == &config.critic ? critic_weight_rules : actor_weight_rules)(loss.built_in);
  updates.needs_signs = loss.built_in.policy.pg_variant->needs_sign;
  updates.max_nonfinite_updates = config.max_nonfinite_updates;
  updates.dropout_seed = dropout_seed(worker, config.seed);
  return {.epochs = epoch_rule(config, worker),
          .learner = learner_options(worker, config.max_grad_norm, num_steps * updates_per_step(config, worker)),
          .loss = std::move(loss),
          .updates = std::move(updates)};
}

/// Replayed ones; else in the run folder, where nothing says otherwise.
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

RouterRule router_rule(const StrategyConfig& strategy) {
  const double bias_step = strategy.moe_router_bias_update_rate;
  return {.costs = {.balance = strategy.moe_aux_loss_coeff, .z = strategy.moe_z_loss_coeff},
          .loads = bias_step > 0 ? std::make_shared<ExpertLoads>(bias_step) : nullptr};
}

StepSettings step_settings(const Config& config) {
  const WorkerConfig &actor = config.actor_train, &critic = config.critic;
  const double temperature = config.actor_infer.generating_args.temperature;
  StepSettings settings{
      .places = places_of(config),
      .num_groups = config.prompts_per_step(),
      .group_size = config.num_return_sequences_in_group,
      .critic_warmup = config.critic_warmup,
      .replays_routing = config.routing_replay.value_or(false),
      .replay = config.rollout_replay.value_or(""),
      .rollouts = rollout_files(config),
      .models = {.temperature = temperature == 0 ? 1.0 : temperature,
                 .actor_recomputes = actor.recomputation(),
                 .critic_recomputes = critic.recomputation(),
                 .with_energies = old_log_prob_reasons(config).energies,
                 .actor_gathers = actor.gathers_layers(),
                 .critic_gathers = critic.gathers_layers(),
                 .routers = router_rule(actor.strategy_args.strategy_config)},
      .forwards = forward_settings(config),
      .experience = config.experience,
      .actor = training_settings(config, actor, config.num_steps() - config.critic_warmup,
                                 {loss_settings(config.loss, actor.policy), actor.loss_func, actor.pg_loss_reducer},
                                 {.prefix = "actor", .loss_mask = "final_response_mask"}),
      .critic = {}};
  if (config.uses_critic())
    settings.critic =
        training_settings(config, critic, config.num_steps(), {loss_settings(config.loss), critic.loss_func, {}},
                          {.prefix = "critic", .loss_mask = "response_mask"});
  return settings;
}

RoleDtypes role_dtypes(const Config& config, at::Device device) {
  RoleDtypes dtypes{.actor = model_dtype(config.actor_train.model_args, device), .references = {}};
  for (const auto& [name, worker] : reference_roles(config))
    dtypes.references.push_back(model_dtype(worker->model_args, device));
  if (config.uses_critic()) dtypes.critic = model_dtype(config.critic.model_args, device);
  return dtypes;
}

RoleFolders role_folders(const Config& config) {
  const auto folder = [](const WorkerConfig& worker) {
    return model_folder(worker.model_args.model_name_or_path.value());
  };
  RoleFolders folders{.actor = folder(config.actor_train), .critic = {}, .references = {}};
  for (const auto& [name, worker] : reference_roles(config)) folders.references.push_back(folder(*worker));
  folders.actor_lora = lora_of(config.actor_train.model_args, config.seed);
  folders.longest_sequence = config.longest_sequence();
  if (!config.uses_critic()) return folders;
  folders.critic = folder(config.critic);
  folders.critic_lora = lora_of(config.critic.model_args, config.seed);
  return folders;
}

ForwardSettings forward_settings(const Config& config) {
  const bool is_asked = config.enable_old_logprobs_recompute.value_or(false);
  OldLogProbReasons reasons = old_log_prob_reasons(config);
  ForwardSettings settings{.old_log_probs = is_asked || reasons.any(),
                           .energies = reasons.energies,
                           .values = config.uses_critic(),
                           .actor = batch_rule(config.actor_train, Stage::kForward),
                           .critic = {},
                           .references = {},
                           .teacher_kl = {}};
  for (const auto& [name, worker] : reference_roles(config))
    settings.references.push_back({.rule = batch_rule(*worker, Stage::kForward)});
  if (config.distils()) {
    reasons.dump = false;  // what is written down changes nothing
    settings.teacher_kl = {config.experience.kl_penalty, !is_asked && !reasons.any()};
    size_t i = 0;
    for (const auto& [name, teacher] : config.teacher) {
      settings.references[i].domains = teacher.domains;
      settings.references[i++].kl_coef = teacher.opd_kl_coef.value_or(1);
    }
  }
  if (settings.values) settings.critic = batch_rule(config.critic, Stage::kForward);
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
          .schedule = schedule_of(args, total_updates),
          .max_grad_norm = max_grad_norm,
          .frozen_prefixes = worker.model_args.freeze_module_prefix,
          .gathers_layers = worker.gathers_layers(),
          .shares_optimizer = worker.strategy_args.strategy_config.use_distributed_optimizer};
}

}  // namespace roll
