#include "settings/checks.h"

namespace roll {

namespace {

void check_groups(const Config& config, Checker& check) {
  if (config.num_return_sequences_in_group > 1) return;
  const ExperienceConfig& experience = config.experience;
  const std::string size = check.name(config.num_return_sequences_in_group);
  check.require(experience.norm_std_type != NormType::kGroup, experience.norm_std_type,
                "a group of one has no deviation, and {}; set that to 2 or more, or this to batch", size);
  check.require(experience.norm_mean_type != NormType::kGroup, experience.norm_mean_type,
                "a group of one minus its mean is always 0, and {}; set that to 2 or more, or this to batch", size);
  check.require(experience.adv_estimator != AdvEstimator::kGrpo, experience.adv_estimator,
                "compares the responses of one prompt, and {}; set that to 2 or more", size);
}

void check_critic(const Config& config, Checker& check) {
  if (config.uses_critic())
    check.require(check.is_set(config.critic), config.experience.adv_estimator,
                  "needs a critic, and {} is not set; describe it, or set adv_estimator: reinforce or grpo",
                  check.key(config.critic));
  else
    check.require(config.critic_warmup == 0, config.critic_warmup, "there is no critic to warm up with {}",
                  check.name(config.experience.adv_estimator));
}

void check_kl(const Config& config, Checker& check) {
  const ExperienceConfig& experience = config.experience;
  check.require(!experience.target_kl || experience.add_token_level_kl, experience.target_kl,
                "steers the KL in the token rewards, but {}; set that to true or remove this",
                check.name(experience.add_token_level_kl));
  check.require(!config.loss.use_kl_loss || config.loss.kl_loss_coef > 0, config.loss.use_kl_loss,
                "adds nothing, as {}; give the coefficient, e.g. 0.001", check.name(config.loss.kl_loss_coef));
}

void check_masks(const Config& config, Checker& check) {
  const ExperienceConfig& experience = config.experience;
  check.require(
      !experience.difficulty_mask || experience.difficulty_low_threshold < experience.difficulty_high_threshold,
      experience.difficulty_low_threshold, "must be below {}", check.name(experience.difficulty_high_threshold));
  check.require(!experience.error_max_len_clip || experience.error_max_len_threshold, experience.error_max_len_clip,
                "needs {}", check.key(experience.error_max_len_threshold));
  check.require(!experience.bootstrap_truncated || config.uses_critic(), experience.bootstrap_truncated,
                "takes the critic's value, but {} has no critic", check.name(experience.adv_estimator));
}

void check_correction(const TrainInferCorrection& correction, Checker& check) {
  for (const CorrectionFilter& filter : correction.filters) {
    check.require(filter.ratio_high >= filter.ratio_low, filter.ratio_high, "must be {} or more",
                  check.name(filter.ratio_low));
    check.require(filter.diff_high >= filter.diff_low, filter.diff_high, "must be {} or more",
                  check.name(filter.diff_low));
  }
}

}  // namespace

void check_experience(const Config& config, Checker& check) {
  check_groups(config, check);
  check_critic(config, check);
  check_kl(config, check);
  check_masks(config, check);
  check_correction(config.experience.train_infer_correction, check);
}

}  // namespace roll
