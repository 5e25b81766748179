#include "settings/rollout_only.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/error.h"
#include "config/walk.h"
#include "settings/training_plan.h"

namespace roll {

namespace {

using VisitAddress = std::function<void(const Address& member)>;

/// Calls f(member) for each key of a struct; a group counts as one key.
void for_each_key(const AnyMember& group, const VisitAddress& visit) {
  walk(group, WalkDepth::kTop, [&](const KeyInfo&, const AnyMember& member) {
    if (member.type) visit(member);
  });
}

/// Calls f for the training keys outside actor_train.
void for_each_training_key(Config& config, const VisitAddress& visit) {
  for_each_key(config.loss, visit), for_each_key(config.experience, visit);
  visit(config.reference), visit(config.teacher);
  for (const TrainableRole& row : trainable_roles())
    if (row.worker != &Config::actor_train) visit(config.*row.worker);
  visit(config.ppo_epochs), visit(config.max_grad_norm);
  visit(config.critic_warmup), visit(config.enable_reference), visit(config.enable_old_logprobs_recompute);
  visit(config.opd_kl_coef), visit(config.max_nonfinite_updates);
}

/// Calls f for all keys that a run without training ignores.
void for_each_idle_key(Config& config, const VisitAddress& visit) {
  for_each_training_key(config, visit);
  for_each_key(config.actor_train.policy, visit);
  visit(config.actor_train.training_args), visit(config.actor_train.loss_func),
      visit(config.actor_train.pg_loss_reducer);
  visit(config.async_generation_ratio), visit(config.offload), visit(config.dump_experience),
      visit(config.dump_samples);
  visit(config.validation), visit(config.agentic.val_env_manager), visit(config.eval_steps);
}

/// Returns true if the sampler is the only role and no training key is set; complains if only actor_train is missing.
bool only_samples(Config& config, Checker& check) {
  if (!config.agentic.is_used() || check.is_set(config.actor_train) || !check.is_set(config.actor_infer)) return false;
  bool has_no_training_key = true;
  for_each_training_key(config, [&](const Address& member) {
    has_no_training_key =
        has_no_training_key && check.require(!check.is_set(member), member,
                                             "is a training key, but actor_train is not set; describe actor_train, or "
                                             "set {}: true for a run that only samples",
                                             check.key(config.rollout_only));
  });
  if (has_no_training_key)
    check.note(fmt::format(
        "{} is true: actor_infer is set and actor_train is not, so steps are sampled and scored without training",
        check.key(config.rollout_only)));
  return has_no_training_key;
}

void note_idle(Config& config, Checker& check) {
  constexpr size_t kShown = 8;
  std::vector<std::string> idle;
  for_each_idle_key(config, [&](const Address& member) {
    // An estimator with samples_baseline acts: it makes the sampler draw a greedy response per prompt.
    const auto& estimator = config.experience.adv_estimator;
    const bool acts = estimator->samples_baseline && member == Address(estimator);
    if (!acts && check.is_set(member)) idle.push_back(check.key(member));
  });
  if (idle.empty()) return;
  const std::string rest = idle.size() > kShown ? fmt::format(" and {} more", idle.size() - kShown) : "";
  idle.resize(std::min(idle.size(), kShown));
  check.note(fmt::format("{}{}: no effect, because of {}: nothing is trained; use `roll evaluate` for a validation",
                         fmt::join(idle, ", "), rest, check.name(config.rollout_only)));
}

}  // namespace

void complete_rollout_only(Config& config, Checker& check) {
  auto& rollout_only = config.rollout_only;
  if (!rollout_only) rollout_only = only_samples(config, check);
  if (*rollout_only) note_idle(config, check);
}

void place_policy_at_sampler(Config& config, Checker& check) {
  if (config.trains()) return;
  check.require(!config.rollout_replay, config.rollout_replay, "is for training, but {}; remove one of the two",
                check.name(config.rollout_only));
  WorkerConfig &policy = config.actor_train, &sampler = config.actor_infer;
  // The policy takes the sampler's dtype; otherwise the trainer's dtype holds, in which its first step samples.
  if (!check.is_set(policy) && sampler.model_args.weight_bits() == 0)
    policy.model_args.dtype = sampler.model_args.dtype;
  if (!sampler.device_mapping) sampler.device_mapping = policy.device_mapping;
  policy.device_mapping = sampler.device_mapping;
  policy.strategy_args = {};
  policy.strategy_args.strategy_config.tensor_parallel_size = sampler.strategy_args.strategy_config.tensor_parallel();
}

void require_training(const Config& config, const std::string& file, const std::string& command) {
  if (!config.trains())
    throw user_error(
        "--config = {}: describes a run that only samples (rollout_only: true), but {} needs a run that trains", file,
        command);
}

}  // namespace roll
