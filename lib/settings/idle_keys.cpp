// Keys that were set and that another key makes idle. Worth a word each: who sets one believes that it acts.
#include "settings/checks.h"

namespace roll {

namespace {

/// Compares with the defaults, so that a resolved configuration, which sets everything, is not full of notes.
class IdleKeys {
 public:
  IdleKeys(const Config& config, Checker& check) : config_(config), check_(check) {}

  void note_loss() {
    const LossConfig &loss = config_.loss, &plain = plain_.loss;
    unless(loss.use_pg_clip_range, loss.use_pg_clip_range, loss.pg_clip_low, plain.pg_clip_low);
    unless(loss.use_pg_clip_range, loss.use_pg_clip_range, loss.pg_clip_high, plain.pg_clip_high);
    unless(loss.dual_clip_loss, loss.dual_clip_loss, loss.dual_clip_c, plain.dual_clip_c);
    unless(loss.use_kl_loss, loss.use_kl_loss, loss.kl_loss_coef, plain.kl_loss_coef);
    unless(loss.use_kl_loss, loss.use_kl_loss, loss.kl_loss_penalty, plain.kl_loss_penalty);
    unless(config_.uses_critic(), config_.experience.adv_estimator, loss.value_clip, plain.value_clip);
    unless(loss.difficulty_loss_weight, loss.difficulty_loss_weight, loss.difficulty_range, plain.difficulty_range);
  }

  /// Each policy loss has keys of its own.
  void note_policy() {
    const PolicyArgs &args = config_.actor_train.policy, &plain = plain_.actor_train.policy;
    const auto owned_by = [&](auto... variants) {
      return ((args.pg_variant == Chosen<PolicyLossKind>(variants)) || ...);
    };
    const auto note_all = [&](bool acts, auto... members) {
      (unless(acts, args.pg_variant, args.*members, plain.*members), ...);
    };
    using P = PolicyArgs;
    note_all(owned_by("tis"), &P::tis_lower_bound, &P::tis_upper_bound);
    note_all(owned_by("topr"), &P::topr_positive_weight, &P::topr_negative_weight);
    note_all(owned_by("cispo"), &P::cispo_epsilon_low, &P::cispo_epsilon_high, &P::cispo_use_unified_mask);
    note_all(owned_by("kimi15", "kimi15_response"), &P::kimi15_tau);
    note_all(owned_by("sapo"), &P::sapo_tau_pos, &P::sapo_tau_neg);
    note_all(owned_by("dppo_tv", "dppo_kl"), &P::dppo_threshold_low, &P::dppo_threshold_high, &P::dppo_max_ratio);
    note_all(owned_by("gmpo"), &P::gmpo_epsilon_low, &P::gmpo_epsilon_high);
  }

  void note_experience() {
    const ExperienceConfig &e = config_.experience, &plain = plain_.experience;
    unless(config_.uses_critic(), e.adv_estimator, e.lambd, plain.lambd);
    unless(config_.uses_critic(), e.adv_estimator, e.lambd_critic, plain.lambd_critic);
    unless(config_.uses_critic(), e.adv_estimator, e.lambd_alpha, plain.lambd_alpha);
    unless(!e.lambd_alpha || !e.lambd_critic, e.lambd_alpha, e.lambd, plain.lambd);
    if (e.norm_mean_type)
      unless(false, e.norm_mean_type, e.reward_baseline, plain.reward_baseline);
    else
      unless(!e.adv_estimator->compares_group, e.adv_estimator, e.reward_baseline, plain.reward_baseline);
    unless(e.adv_estimator->discounts, e.adv_estimator, e.gamma, plain.gamma);
    unless(e.adv_estimator->weighs_turns, e.adv_estimator, e.step_reward_gamma, plain.step_reward_gamma);
    const bool is_gigpo = e.adv_estimator == Chosen<AdvantageEstimator>("gigpo");
    unless(is_gigpo, e.adv_estimator, e.episode_reward_weight, plain.episode_reward_weight);
    unless(is_gigpo, e.adv_estimator, e.step_reward_weight, plain.step_reward_weight);
    unless(is_gigpo, e.adv_estimator, e.episode_statistics, plain.episode_statistics);
    unless(e.add_token_level_kl, e.add_token_level_kl, e.init_kl_coef, plain.init_kl_coef);
    unless(e.add_token_level_kl || e.distils(), e.add_token_level_kl, e.kl_penalty, plain.kl_penalty);
    unless(e.add_token_level_kl, e.add_token_level_kl, e.target_kl, plain.target_kl);
    unless(e.target_kl.has_value(), e.target_kl, e.kl_horizon, plain.kl_horizon);
    unless(e.difficulty_mask, e.difficulty_mask, e.difficulty_low_threshold, plain.difficulty_low_threshold);
    unless(e.difficulty_mask, e.difficulty_mask, e.difficulty_high_threshold, plain.difficulty_high_threshold);
    unless(e.error_max_len_clip, e.error_max_len_clip, e.error_max_len_threshold, plain.error_max_len_threshold);
  }

  void note_distillation() {
    const ExperienceConfig &e = config_.experience, &plain = plain_.experience;
    unless(config_.distils(), e.use_opd, config_.opd_kl_coef, plain_.opd_kl_coef);
    if (config_.distils() && check_.is_set(config_.reference))
      note(config_.reference, check_.key(config_.reference), check_.name(e.is_pure_opd ? e.is_pure_opd : e.use_opd));
    const auto note_all = [&](auto... members) {
      (unless(!e.is_pure_opd, e.is_pure_opd, e.*members, plain.*members), ...);
    };
    using E = ExperienceConfig;
    note_all(&E::gamma, &E::reward_clip, &E::reward_baseline, &E::norm_mean_type, &E::norm_std_type,
             &E::whiten_rewards);
    for (const auto& [name, teacher] : config_.teacher) note_worker(teacher.model);
  }

  void note_worker(const WorkerConfig& worker) {
    const WorkerConfig plain;
    const PackingArgs& packing = worker.packing;
    const SequencePackingArgs &args = packing.sequence_packing_args, &plain_args = plain.packing.sequence_packing_args;
    const auto& packs = packing.use_sequence_packing;
    unless(packs, packs, args.algorithm, plain_args.algorithm);
    unless(packs, packs, args.max_packed_sequence_length_forward, plain_args.max_packed_sequence_length_forward);
    unless(packs, packs, args.min_num_micro_batches_forward, plain_args.min_num_micro_batches_forward);
    unless(packing.use_dynamic_batching_in_infer, packing.use_dynamic_batching_in_infer,
           packing.max_tokens_per_microbatch_in_infer, plain.packing.max_tokens_per_microbatch_in_infer);
    if (worker.duties.trains) note_training(worker, plain);
  }

  void note_reward(const RewardArgs& reward) {
    const RewardArgs plain;
    const OverlongBuffer& buffer = reward.overlong_buffer;
    unless(buffer.enable, buffer.enable, buffer.len, plain.overlong_buffer.len);
    unless(buffer.enable, buffer.enable, buffer.penalty_factor, plain.overlong_buffer.penalty_factor);
    const auto& most = reward.repetition_penalty.max_penalty;
    const double usual_most = reward.type ? traits_of(*reward.type).repetition_penalty : 0;
    unless(most.value_or(usual_most) != 0, most, reward.repetition_penalty.ngram_size,
           plain.repetition_penalty.ngram_size);
  }

  void note_run() {
    const RolloutMock& mock = config_.rollout_mock;
    unless(mock.enable, mock.enable, mock.dump_dir, plain_.rollout_mock.dump_dir);
    unless(!config_.rollout_replay, config_.rollout_replay, config_.rollout_dump_dir, plain_.rollout_dump_dir);
    unless(config_.is_use_additional_prompts, config_.is_use_additional_prompts, config_.max_additional_running_prompts,
           plain_.max_additional_running_prompts);
    const DataArgs& data = config_.actor_train.data_args;
    unless(data.sampler == DataSampler::kPassRate, data.sampler, data.sampler_floor,
           plain_.actor_train.data_args.sampler_floor);
    unless(config_.validates(), config_.validation.data_args.file_name, config_.eval_steps, plain_.eval_steps);
    if (config_.uses_critic()) return;
    if (check_.is_set(config_.critic))
      note(config_.critic, check_.key(config_.critic), check_.name(config_.experience.adv_estimator));
    else
      unless(false, config_.experience.adv_estimator, config_.reward_pretrain, plain_.reward_pretrain);
  }

 private:
  void note_training(const WorkerConfig& worker, const WorkerConfig& plain) {
    const PackingArgs& packing = worker.packing;
    const SequencePackingArgs &args = packing.sequence_packing_args, &plain_args = plain.packing.sequence_packing_args;
    const auto& packs = packing.use_sequence_packing;
    unless(packs, packs, args.max_packed_sequence_length_train, plain_args.max_packed_sequence_length_train);
    unless(packs, packs, args.min_num_micro_batches_train, plain_args.min_num_micro_batches_train);
    unless(packing.use_dynamic_batching_in_train, packing.use_dynamic_batching_in_train,
           packing.max_tokens_per_microbatch_in_train, plain.packing.max_tokens_per_microbatch_in_train);
    const StrategyConfig &strategy = worker.strategy_args.strategy_config,
                         &plain_strategy = plain.strategy_args.strategy_config;
    const auto unless_recomputed = [&](const auto& why) {
      unless(worker.recomputes(), why, strategy.recompute_method, plain_strategy.recompute_method);
    };
    if (is_megatron(worker.strategy_args.strategy_name))
      unless_recomputed(strategy.recompute_granularity);
    else
      unless_recomputed(worker.model_args.disable_gradient_checkpointing);
    const TrainingArgs& training = worker.training_args;
    unless(training.warmup_steps == 0, training.warmup_steps, training.warmup_ratio, plain.training_args.warmup_ratio);
  }

  /// Notes `member` when it was set to something else than its default and `acts` does not hold because of `other`.
  template <class O, class M>
  void unless(bool acts, const O& other, const M& member, const M& usual) {
    if (!acts && check_.is_set(member) && member != usual) note(member, check_.name(member), check_.name(other));
  }
  template <class M>
  void note(const M& member, const std::string& key, const std::string& other) {
    check_.note_idle(member, fmt::format("{} has no effect, because of {}", key, other));
  }

  const Config& config_;
  Checker& check_;
  const Config plain_;
};

}  // namespace

void note_idle_keys(const Config& config, Checker& check) {
  IdleKeys keys(config, check);
  for (const auto& [domain, worker] : config.rewards) keys.note_reward(worker.reward);
  if (!config.trains()) return;  // settings/rollout_only.cpp has named them all
  keys.note_loss();
  keys.note_policy();
  keys.note_experience();
  keys.note_distillation();
  for (const WorkerConfig* worker : {&config.actor_train, &config.reference, &config.critic}) keys.note_worker(*worker);
  keys.note_run();
}

}  // namespace roll
