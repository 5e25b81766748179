#include "loss/config.h"

#include "config/keys.h"

namespace roll {

void DivergenceArgs::fields(Keys& v) {
  v("kd_objective", kd_objective, "divergence that pulls the student's distribution towards the teacher's");
  v("kd_temperature", kd_temperature, "divides the logits of student and teacher", within(0.001, 1000));
  v("teacher_temperature", teacher_temperature, "divides the teacher's logits once more", within(0.001, 1000));
  v("adaptive_kl_alpha", adaptive_kl_alpha,
    "adaptive_kl: the least likely tokens are the tail, as long as their teacher probabilities add up to at most this",
    within(0, 1));
  v("skew_lambda", skew_lambda, "skewed_*_kl: share of the first distribution that is mixed into the second",
    within(0, 1));
  v("distill_loss_weight", distill_loss_weight,
    "weight of the divergence in the loss; the cross-entropy of the written tokens has the rest", within(0, 1));
}

void PluginArgs::fields(Keys& v) {
  v("library", library, "path of the shared library; empty: the built-in function");
  v("name", name, "the function's name in ROLL_LOSS(name, function)");
  v("args", args, "settings that the function can read");
}

void LossConfig::aggregation_fields(Keys& v) {
  v("loss_agg_mode", loss_agg_mode, "how token losses become the mini-batch's loss");
  v("loss_aggregation", loss_aggregation, "the ScaleRL spelling of loss_agg_mode; set one of the two");
  v("loss_aggregation_divisor", loss_aggregation_divisor,
    "L of the modes constant and seq-mean-token-sum-norm; null: sequence_length - 1 in the latter", above_to(0, 1e12));
  v("calculate_per_token_loss", calculate_per_token_loss, "the older spelling of mode token-mean");
  v("loss_mask_keys", loss_mask_keys, "masks whose tokens and sequences are counted over the whole mini-batch");
}

void LossConfig::fields(Keys& v) {
  v("pg_clip", pg_clip,
    "the ratio is clipped to 1 -+ pg_clip; for a larger upper side use pg_clip_low and "
    "pg_clip_high",
    above_to(0, 1));
  v("use_pg_clip_range", use_pg_clip_range, "use pg_clip_low and pg_clip_high instead of pg_clip");
  v("pg_clip_low", pg_clip_low, "the ratio is clipped to at least 1 - pg_clip_low", within(0, 1),
    only_with(use_pg_clip_range));
  v("pg_clip_high", pg_clip_high, "the ratio is clipped to at most 1 + pg_clip_high", within(0, 1'000'000),
    only_with(use_pg_clip_range));
  v("dual_clip_loss", dual_clip_loss, "bounds the term of a negative advantage by dual_clip_c x advantage");
  v("dual_clip_c", dual_clip_c, "factor of the dual clip; null is 1 + 2 x pg_clip", above_to(1, 1'000'000),
    only_with(dual_clip_loss));
  v("value_clip", value_clip, "new values are clipped to -+ value_clip around the old ones; null: unclipped",
    above_to(0, 1'000'000));
  aggregation_fields(v);
  v("use_kl_loss", use_kl_loss, "add kl_loss_coef x KL(policy, reference) to the loss");
  v("kl_loss_coef", kl_loss_coef, "weight of the KL term of the loss", within(0, 1'000'000), only_with(use_kl_loss));
  v("kl_loss_penalty", kl_loss_penalty, "estimator of the KL in the loss; mse is k2", only_with(use_kl_loss));
  v("entropy_loss_coef", entropy_loss_coef, "weight of the entropy bonus", within(-1'000'000, 1'000'000));
  v("importance_sampling", importance_sampling,
    "ratio per token (PPO), per sequence (GSPO), or always 1 with its gradient");
  v("rl_loss_coef", rl_loss_coef, "weight of the policy-gradient term", within(0, 1'000'000));
  v("positive_loss_coef", positive_loss_coef,
    "weight of the negative log-likelihood of right responses, those with a score above 0", within(0, 1'000'000));
  v("difficulty_loss_weight", difficulty_loss_weight, "weight sequences by the difficulty of their prompt");
  v("difficulty_range", difficulty_range,
    "difficulties with the smallest and with the largest weight; a difficulty outside counts as the nearer end",
    within(-1'000'000, 1'000'000), only_with(difficulty_loss_weight));
  v("length_loss_weight", length_loss_weight, "weight sequences by the length of their response");
}

}  // namespace roll
