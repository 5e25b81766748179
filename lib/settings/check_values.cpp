#include <algorithm>

#include "settings/checks.h"

namespace roll {

namespace {

constexpr double kWeek_min = 7 * 24 * 60;

void check_training(const TrainingArgs& args, Checker& check) {
  check.at_least(args.learning_rate, 0);
  check.at_least(args.weight_decay, 0);
  check.at_least(args.per_device_train_batch_size, 1);
  check.at_least(args.gradient_accumulation_steps, 1);
  check.at_least(args.warmup_steps, 0);
  check.in_range(args.warmup_ratio, 0, 1);
  for (const double* beta : {&args.adam_beta1, &args.adam_beta2})
    check.require(*beta >= 0 && *beta < 1, *beta, "must be at least 0 and below 1");
  check.above_zero(args.adam_epsilon);
  check.at_least(args.num_train_epochs, 1);
}

void check_generating(const GeneratingArgs& args, Checker& check) {
  check.at_least(args.max_new_tokens, 1);
  check.at_least(args.temperature, 0);
  check.require(args.top_p > 0 && args.top_p <= 1, args.top_p, "must be above 0 and at most 1");
  check.at_least(args.top_k, -1);
  check.require(args.min_p >= 0 && args.min_p < 1, args.min_p, "must be at least 0 and below 1");
  check.above_zero(args.repetition_penalty);
  for (const double* penalty : {&args.presence_penalty, &args.frequency_penalty})
    check.require(std::isfinite(*penalty), *penalty, "must be a finite number");
  check.at_least(args.num_return_sequences, 1);
  check.require(args.num_beams == 1, args.num_beams, "must be 1: beam search is no sampling from the policy");
  check.require(std::find(args.stop_strings.begin(), args.stop_strings.end(), "") == args.stop_strings.end(),
                args.stop_strings, "an empty stop string would end every response; remove it");
}

void check_worker(const WorkerConfig& worker, Checker& check) {
  check_training(worker.training_args, check);
  check_generating(worker.generating_args, check);
  check.at_least(worker.data_args.preprocessing_num_workers, 1);
  check.at_least(worker.infer_batch_size, 1);
  check.require(worker.backend_timeout > 0 && worker.backend_timeout <= kWeek_min, worker.backend_timeout,
                "minutes, must be above 0 and at most a week");
  const StrategyConfig& strategy = worker.strategy_args.strategy_config;
  check.in_range(strategy.gpu_memory_utilization, 0.01, 1);
  check.in_range(strategy.mem_fraction_static, 0.01, 1);
  check.at_least(strategy.block_size, 1);
  check.at_least(strategy.max_num_batched_tokens, 1);
  const SequencePackingArgs& packing = worker.packing.sequence_packing_args;
  check.at_least(packing.min_num_micro_batches_train, 1);
  check.at_least(packing.min_num_micro_batches_forward, 1);
  for (const auto* size : {&strategy.tensor_model_parallel_size, &strategy.tensor_parallel_size,
                           &strategy.context_parallel_size, &strategy.ulysses_size})
    check.at_least(*size, 1);
}

void check_policy(const PolicyArgs& policy, Checker& check) {
  check.at_least(policy.tis_lower_bound, 0);
  check.require(policy.tis_upper_bound >= policy.tis_lower_bound && std::isfinite(policy.tis_upper_bound),
                policy.tis_upper_bound, "must be {} or more", check.name(policy.tis_lower_bound));
  check.at_least(policy.topr_positive_weight, 0);
  check.at_least(policy.topr_negative_weight, 0);
  check.in_range(policy.cispo_epsilon_low, 0, 1);
  check.at_least(policy.cispo_epsilon_high, 0);
  check.at_least(policy.kimi15_tau, 0);
}

void check_correction(const TrainInferCorrection& correction, Checker& check) {
  check.above_zero(correction.is_weight.upper_bound);
  for (const CorrectionFilter& filter : correction.filters) {
    check.at_least(filter.ratio_low, 0);
    check.require(filter.ratio_high >= filter.ratio_low, filter.ratio_high, "must be {} or more",
                  check.name(filter.ratio_low));
    check.require(filter.diff_high >= filter.diff_low, filter.diff_high, "must be {} or more",
                  check.name(filter.diff_low));
  }
}

void check_loss_values(const LossConfig& loss, Checker& check) {
  check.above_zero(loss.pg_clip);
  check.in_range(loss.pg_clip_low, 0, 1);
  check.at_least(loss.pg_clip_high, 0);
  check.require(!loss.dual_clip_c || (*loss.dual_clip_c > 1 && std::isfinite(*loss.dual_clip_c)), loss.dual_clip_c,
                "must be above 1, or null");
  check.above_zero(loss.value_clip);
  check.at_least(loss.kl_loss_coef, 0);
  check.at_least(loss.rl_loss_coef, 0);
  check.require(std::isfinite(loss.entropy_loss_coef), loss.entropy_loss_coef, "must be a finite number");
}

void check_experience_values(const ExperienceConfig& experience, Checker& check) {
  check.in_range(experience.gamma, 0, 1);
  check.in_range(experience.lambd, 0, 1);
  check.above_zero(experience.reward_clip);
  check.above_zero(experience.advantage_clip);
  check.at_least(experience.init_kl_coef, 0);
  check.above_zero(experience.target_kl);
  check.at_least(experience.kl_horizon, 1);
  check.at_least(experience.error_max_len_threshold, 1);
}

void check_reward(const RewardArgs& reward, Checker& check) {
  check.require(reward.timeout_s > 0 && reward.timeout_s <= 86400, reward.timeout_s,
                "must be above 0 and at most a day");
  check.at_least(reward.world_size, 1);
  check.at_least(reward.response_length_penalty_coef, 0);
}

/// Steps between events: -1 and 0 mean never.
void check_interval(const int64_t& steps, Checker& check) {
  check.at_least(steps, -1);
}

}  // namespace

void check_values(const Config& config, Checker& check) {
  check.at_least(config.seed, 0);
  for (const int64_t* count :
       {&config.max_steps, &config.logging_steps, &config.num_gpus_per_node, &config.rollout_batch_size,
        &config.prompt_length, &config.max_running_requests, &config.num_return_sequences_in_group, &config.ppo_epochs})
    check.at_least(*count, 1);
  check_interval(config.save_steps, check);
  check_interval(config.eval_steps, check);
  check.at_least(config.max_ckpt_to_keep, 0);
  check.at_least(config.critic_warmup, 0);
  check.above_zero(config.max_grad_norm);
  check_loss_values(config.loss, check);
  check_policy(config.actor_train.policy, check);
  check_correction(config.experience.train_infer_correction, check);
  check_experience_values(config.experience, check);
  for (const WorkerConfig* worker :
       {&config.actor_train, &config.actor_infer, &config.reference, &config.critic, &config.validation})
    check_worker(*worker, check);
  for (const auto& [domain, worker] : config.rewards) check_reward(worker.reward, check);
}

void check_values(const SftConfig& config, Checker& check) {
  check.at_least(config.seed, 0);
  for (const int64_t* count :
       {&config.num_train_epochs, &config.logging_steps, &config.num_gpus_per_node, &config.sequence_length})
    check.at_least(*count, 1);
  check.at_least(config.max_steps, 1);
  check_interval(config.save_steps, check);
  check_interval(config.eval_steps, check);
  check.at_least(config.max_ckpt_to_keep, 0);
  check.above_zero(config.max_grad_norm);
  check_worker(config.sft_train, check);
  check_worker(config.validation, check);
}

}  // namespace roll
