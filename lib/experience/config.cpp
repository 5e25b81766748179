#include "experience/config.h"

#include "config/keys.h"

namespace roll {

void ImportanceWeights::fields(Keys& v) {
  v("enabled", enabled, "weight the policy loss by the ratio of the trainer's to the sampler's probabilities");
  v("weight_type", weight_type, "unit whose probability ratio is the weight");
  v("upper_bound", upper_bound, "larger weights are lowered to this (TIS); null: no upper bound",
    above_to(0, 1'000'000));
  v("lower_bound", lower_bound, "smaller weights are raised to this; null: no lower bound", within(0, 1'000'000));
  v("zero_outside", zero_outside, "weights outside the bounds become 0 instead, and their tokens still count (IcePop)");
  v.noted({"detach"}, "the weights are always constants: no gradient flows through them");
}

void CorrectionFilter::fields(Keys& v) {
  v("enabled", enabled, "apply this filter");
  v("agg_type", agg_type, "unit that is checked and dropped");
  v("ratio_enabled", ratio_enabled, "keep a unit only if ratio_low <= trainer's / sampler's probability <= ratio_high");
  v("ratio_low", ratio_low, "smallest ratio that is kept", within(0, 1'000'000));
  v("ratio_high", ratio_high, "largest ratio that is kept", within(0, 1'000'000));
  v("diff_enabled", diff_enabled, "keep a unit only if diff_low <= trainer's - sampler's probability <= diff_high");
  v("diff_low", diff_low, "smallest difference that is kept", within(-1'000'000, 1'000'000));
  v("diff_high", diff_high, "largest difference that is kept", within(-1'000'000, 1'000'000));
}

void TrainInferCorrection::fields(Keys& v) {
  v("is_weight", is_weight, "importance weights");
  v("filters", filters, "filters that drop units from the policy loss, applied in order");
}

void ExperienceConfig::fields(Keys& v) {
  const bool is_gigpo = adv_estimator == Chosen<AdvantageEstimator>("gigpo");
  v("adv_estimator", adv_estimator, "how advantages are computed from token rewards");
  v("gamma", gamma, "discount of later rewards", within(0, 1), only_if(adv_estimator->discounts, adv_estimator),
    only_if(!is_pure_opd, is_pure_opd));
  v("lambd", lambd, "lambda of GAE", within(0, 1), only_if(adv_estimator->needs_values, adv_estimator),
    only_if(!lambd_alpha || !lambd_critic, lambd_alpha));
  v("lambd_critic", lambd_critic, "lambda of the critic's targets (decoupled GAE); null: lambd", within(0, 1),
    only_if(adv_estimator->needs_values, adv_estimator));
  v("lambd_alpha", lambd_alpha,
    "lambda of the advantages is 1 - 1 / (lambd_alpha x tokens of the response), at least 0; null: lambd",
    above_to(0, 1'000'000), only_if(adv_estimator->needs_values, adv_estimator));
  v("reward_baseline", reward_baseline,
    "constant that is subtracted from every reward; 0.5 turns 0 and 1 into -0.5 and 0.5, so that wrong "
    "responses teach too",
    within(-1'000'000, 1'000'000), only_if(!norm_mean_type, norm_mean_type),
    only_if(norm_mean_type || !adv_estimator->compares_group, adv_estimator), only_if(!is_pure_opd, is_pure_opd));
  v("reward_clip", reward_clip,
    "rewards are clipped to -+ reward_clip after normalisation, and again after the KL is subtracted; null: unclipped",
    above_to(0, 1'000'000), only_if(!is_pure_opd, is_pure_opd));
  v("advantage_clip", advantage_clip, "advantages are clipped to -+ advantage_clip; null: unclipped",
    above_to(0, 1'000'000));
  v("norm_mean_type", norm_mean_type, "mean that is subtracted from the rewards", only_if(!is_pure_opd, is_pure_opd));
  v("norm_std_type", norm_std_type, "standard deviation by which the rewards are divided",
    only_if(!is_pure_opd, is_pure_opd));
  v("step_reward_gamma", step_reward_gamma, "gigpo, step_reinforce: discount of the rewards of later turns",
    within(0, 1), only_if(adv_estimator->weighs_turns, adv_estimator));
  v("episode_reward_weight", episode_reward_weight, "gigpo: weight of the trajectory's reward", within(0, 1'000'000),
    only_if(is_gigpo, adv_estimator));
  v("step_reward_weight", step_reward_weight, "gigpo: weight of the turn's return", within(0, 1'000'000),
    only_if(is_gigpo, adv_estimator));
  v("episode_statistics", episode_statistics,
    "gigpo: mean and deviation of the trajectories' rewards count each trajectory once (trajectories: the paper, "
    "arXiv 2505.10978) or once for each of its turns (turns: ROLL)",
    only_if(is_gigpo, adv_estimator));
  v("statistics_per_domain", statistics_per_domain,
    "rewards are normalised and whitened, and the KL controlled, domain by domain; false: over the whole batch");
  v("whiten_rewards", whiten_rewards, "token rewards get mean 0 and variance 1", only_if(!is_pure_opd, is_pure_opd));
  v("whiten_advantages", whiten_advantages, "advantages get mean 0 and variance 1");
  kl_and_mask_fields(v);
}

void ExperienceConfig::kl_and_mask_fields(Keys& v) {
  v("add_token_level_kl", add_token_level_kl, "subtract kl_coef x KL(old, reference) from each token's reward");
  v("kl_penalty", kl_penalty, "estimator of the KL in the token reward, and of the KL to a teacher",
    only_if(add_token_level_kl || distils(), add_token_level_kl));
  v("init_kl_coef", init_kl_coef, "kl_coef at the first step", within(0, 1'000'000), only_with(add_token_level_kl));
  v("target_kl", target_kl, "adapt kl_coef towards this KL; null: kl_coef is constant", above_to(0, 1'000'000),
    only_with(add_token_level_kl));
  v("kl_horizon", kl_horizon, "sequences over which the adaptive kl_coef reacts", at_least(1), only_with(target_kl));
  v("max_len_mask", max_len_mask, "responses cut at the length limit carry no loss");
  v("difficulty_mask", difficulty_mask, "only groups with a mean score between the two thresholds carry loss");
  v("difficulty_low_threshold", difficulty_low_threshold, "groups at or below this mean score carry no loss",
    within(-1'000'000, 1'000'000), only_with(difficulty_mask));
  v("difficulty_high_threshold", difficulty_high_threshold, "groups at or above this mean score carry no loss",
    within(-1'000'000, 1'000'000), only_with(difficulty_mask));
  v("error_max_len_clip", error_max_len_clip, "wrong responses above error_max_len_threshold carry no loss");
  v("error_max_len_threshold", error_max_len_threshold, "tokens; see error_max_len_clip", at_least(1),
    only_with(error_max_len_clip));
  v("bootstrap_truncated", bootstrap_truncated, "GAE of a truncated response ends in the critic's value, not in 0");
  v("is_pure_opd", is_pure_opd,
    "on-policy distillation alone: advantages are -KL(policy, teacher) of each token. ROLL's names student_train and "
    "student_infer in place of actor_train and actor_infer switch this on, too");
  v("use_opd", use_opd,
    "on-policy distillation together with rewards: KL(policy, teacher) is subtracted from the "
    "advantages");
  v("train_infer_correction", train_infer_correction, "correction where sampler and trainer disagree on probabilities");
}

}  // namespace roll
