#include "settings/batch_plan.h"
#include "settings/checks.h"
#include "settings/placement.h"

namespace roll {

namespace {

/// Checks keys that need groups of two or more; returns true if the configured normalisation is possible.
bool check_groups(const Config& config, Checker& check) {
  if (config.num_return_sequences_in_group > 1) return true;
  const ExperienceConfig& experience = config.experience;
  const std::string size = check.name(config.num_return_sequences_in_group);
  const bool can_normalise =
      check.require(!experience.adv_estimator->compares_group, experience.adv_estimator,
                    "compares the responses of one prompt, but {}; set that to 2 or more", size) &&
      check.require(experience.norm_std_type != NormType::kGroup, experience.norm_std_type,
                    "a group of one has no deviation, but {}; set that to 2 or more, or this to batch", size) &&
      check.require(experience.norm_mean_type != NormType::kGroup, experience.norm_mean_type,
                    "a group of one minus its mean is always 0, but {}; set that to 2 or more, or this to batch", size);
  check.require(!experience.difficulty_mask, experience.difficulty_mask,
                "uses the mean score of a prompt's responses, but {}; set that to 2 or more, or this to false", size);
  return can_normalise;
}

void check_normalisation(const ExperienceConfig& experience, Checker& check) {
  const AdvantageEstimator& estimator = *experience.adv_estimator;
  const auto is_as_required = [&](const auto& type, const auto& required, const char* statistic) {
    return check.require(!required || type == required, type,
                         "{} uses the group's {}; remove this, or choose another estimator",
                         check.name(experience.adv_estimator), statistic);
  };
  if (!is_as_required(experience.norm_mean_type, estimator.normalisation.mean, "mean") ||
      !is_as_required(experience.norm_std_type, estimator.normalisation.deviation, "deviation"))
    return;
  check.require(!estimator.samples_baseline || !experience.norm_mean_type, experience.norm_mean_type,
                "{} subtracts the reward of a greedy response instead; remove this, or choose another estimator",
                check.name(experience.adv_estimator));
  // Groups with equal rewards have deviation 0, and whatever the group mean does not cancel is divided by 1e-6.
  check.require(experience.norm_std_type != NormType::kGroup || experience.norm_mean_type == NormType::kGroup,
                experience.norm_std_type, "divides the difference from the group's mean, but {}; set both to group",
                check.name(experience.norm_mean_type));
}

std::vector<std::string_view> estimators_without_critic() {
  std::vector<std::string_view> names;
  for (const AdvantageEstimator& estimator : registry(static_cast<const AdvantageEstimator*>(nullptr)))
    if (!estimator.needs_values) names.emplace_back(estimator.name);
  return names;
}

void check_critic(const Config& config, Checker& check) {
  if (config.uses_critic())
    check.require(check.is_set(config.critic), config.experience.adv_estimator,
                  "needs a critic, but {} is not set; describe the critic, or choose an estimator without one: {}",
                  check.key(config.critic), fmt::join(estimators_without_critic(), ", "));
  else
    check.require(config.critic_warmup == 0, config.critic_warmup, "there is no critic to warm up with {}",
                  check.name(config.experience.adv_estimator));
  if (config.uses_critic() && config.max_steps && *config.max_steps <= config.critic_warmup)
    check.note(
        fmt::format("{}: the policy is never trained, because {} and only the critic is trained until then; lower "
                    "critic_warmup, or raise max_steps",
                    check.name(config.critic_warmup), check.name(config.max_steps)));
}

void check_kl(const Config& config, Checker& check) {
  const ExperienceConfig& experience = config.experience;
  check.require(!config.loss.use_kl_loss || config.loss.kl_loss_coef > 0, config.loss.use_kl_loss,
                "adds nothing, because {}; set the coefficient, e.g. to 0.001", check.name(config.loss.kl_loss_coef));
  const std::string& wants_reference =
      config.loss.use_kl_loss ? check.key(config.loss.use_kl_loss) : check.key(experience.add_token_level_kl);
  check.require(config.enable_reference != false || !config.uses_reference(), config.enable_reference,
                "{} = true needs the reference for its KL; remove one of the two", wants_reference);
}

/// Checks that enable_old_logprobs_recompute is not false if something needs old log-probs.
void check_old_log_probs(const Config& config, Checker& check) {
  const auto& recompute = config.enable_old_logprobs_recompute;
  if (recompute != false) return;
  const OldLogProbReasons reasons = old_log_prob_reasons(config);
  const char* const remedy = "remove this, or set it to true";
  check.require(!reasons.several_updates, recompute,
                "with {} a step makes {} updates, and after the first the policy is no longer the one that sampled; {}",
                config.ppo_epochs > 1 ? check.name(config.ppo_epochs) : check.name(config.rollout_batch_size),
                updates_per_step(config, config.actor_train), remedy);
  check.require(!reasons.kl_in_reward, recompute, "{} is the KL between old and reference log-probs; {}",
                check.name(config.experience.add_token_level_kl), remedy);
  check.require(!reasons.correction, recompute, "{} compares old log-probs with the sampler's; {}",
                check.key(config.experience.train_infer_correction), remedy);
  check.require(!reasons.energies, recompute, "{} reads token energies, which the same forward pass computes; {}",
                check.name(config.experience.adv_estimator), remedy);
  check.require(!reasons.dropout, recompute, "{} drops parts of the policy in training, so its log-probs differ; {}",
                check.name(config.actor_train.model_args.lora_dropout), remedy);
  check.require(!reasons.dump, recompute, "{} writes old log-probs; {}", check.name(config.dump_experience), remedy);
}

void check_masks(const Config& config, Checker& check) {
  const ExperienceConfig& experience = config.experience;
  check.require(
      !experience.difficulty_mask || experience.difficulty_low_threshold < experience.difficulty_high_threshold,
      experience.difficulty_low_threshold, "must be below {}", check.name(experience.difficulty_high_threshold));
  check.require(!experience.error_max_len_clip || experience.error_max_len_threshold, experience.error_max_len_clip,
                "needs {}", check.key(experience.error_max_len_threshold));
  check.require(!experience.bootstrap_truncated || config.uses_critic(), experience.bootstrap_truncated,
                "uses the critic's value, but {} has no critic", check.name(experience.adv_estimator));
}

/// Notes that TOPR with plain 0/1 rewards has no negative advantages, so that wrong responses teach nothing.
void note_single_sign(const Config& config, Checker& check) {
  const auto& variant = config.actor_train.policy.pg_variant;
  const ExperienceConfig& experience = config.experience;
  const Normalisation types = experience.normalisation();
  const bool is_topr = variant == Chosen<PolicyLossKind>("topr") || variant == Chosen<PolicyLossKind>("topr_response");
  const bool is_plain = experience.adv_estimator == Chosen<AdvantageEstimator>("reinforce") && !types.mean &&
                        !experience.whitens() && !experience.whiten_rewards && !experience.penalises_kl();
  if (!is_topr || !is_plain || experience.reward_baseline > 0) return;
  check.note(fmt::format(
      "{} tapers responses with a negative advantage, but with {} rewards of 0 and 1 give no negative advantage: wrong "
      "responses have no effect, as in REINFORCE; set reward_baseline = 0.5, unless rewards have both signs",
      check.name(variant), check.name(experience.reward_baseline)));
}

/// Notes that async rollout without a correction trains on stale tokens as if the current weights had drawn them.
void note_uncorrected_staleness(const Config& config, Checker& check) {
  if (!config.samples_ahead() || config.experience.train_infer_correction.is_enabled()) return;
  check.note(
      fmt::format("{}: some tokens are sampled with earlier weights, and nothing corrects for the changed policy; set "
                  "train_infer_correction.is_weight.enabled = true to correct for it",
                  check.name(config.async_generation_ratio)));
}

void check_correction(const TrainInferCorrection& correction, Checker& check) {
  const ImportanceWeights& weights = correction.is_weight;
  check.require(!weights.lower_bound || !weights.upper_bound || *weights.lower_bound <= *weights.upper_bound,
                weights.lower_bound, "must not be above {}", check.name(weights.upper_bound));
  check.require(!weights.zero_outside || weights.lower_bound || weights.upper_bound, weights.zero_outside,
                "needs {} or {}", check.key(weights.lower_bound), check.key(weights.upper_bound));
  for (const CorrectionFilter& filter : correction.filters) {
    check_bounds(filter.ratio_low, filter.ratio_high, check);
    check_bounds(filter.diff_low, filter.diff_high, check);
  }
}

}  // namespace

void check_filters(const Config& config, Checker& check) {
  if (config.num_return_sequences_in_group > 1) return;
  for (const auto& [domain, worker] : config.rewards) {
    const QueryFilterConfig& filter = worker.reward.query_filter_config;
    check.require(filter.type == QueryFilter::kNone, filter.type,
                  "compares the responses of one prompt, but {}; set that to 2 or more, or this to no_filter",
                  check.name(config.num_return_sequences_in_group));
  }
}

void check_experience(const Config& config, Checker& check) {
  if (check_groups(config, check)) check_normalisation(config.experience, check);
  check_critic(config, check);
  check_kl(config, check);
  check_old_log_probs(config, check);
  check_masks(config, check);
  check_correction(config.experience.train_infer_correction, check);
  note_single_sign(config, check);
  note_uncorrected_staleness(config, check);
}

void check_training(const Config& config, bool offline, Checker& check) {
  check_experience(config, check);
  check_policy(config.actor_train.policy, config.loss, check);
  check_adapters(config, check);
  for (const auto& [name, worker] : trained_roles(config)) check_plugins(*worker, offline, check);
}

}  // namespace roll
