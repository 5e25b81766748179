// Configuration keys of the losses (LossConfig, PolicyArgs, DivergenceArgs, PluginArgs). aggregate.h explains the
// modes.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/names.h"
#include "config/range.h"

namespace roll {

enum class AggMode { kTokenMean, kSeqMeanTokenSum, kSeqMeanTokenMean, kSeqMeanTokenSumNorm, kPromptMean, kConstant };
constexpr auto names_of(AggMode) {
  return std::to_array<Named<AggMode>>({{AggMode::kTokenMean, "token-mean"},
                                        {AggMode::kSeqMeanTokenSum, "seq-mean-token-sum"},
                                        {AggMode::kSeqMeanTokenMean, "seq-mean-token-mean"},
                                        {AggMode::kSeqMeanTokenSumNorm, "seq-mean-token-sum-norm"},
                                        {AggMode::kPromptMean, "prompt-mean"},
                                        {AggMode::kConstant, "constant"}});
}

/// loss_aggregation, the ScaleRL spelling.
enum class Aggregation { kTokenMean, kSampleMean, kPromptMean, kConstant };
constexpr auto names_of(Aggregation) {
  return std::to_array<Named<Aggregation>>({{Aggregation::kTokenMean, "token_mean"},
                                            {Aggregation::kSampleMean, "sample_mean"},
                                            {Aggregation::kPromptMean, "prompt_mean"},
                                            {Aggregation::kConstant, "constant"}});
}

/// Importance ratio of the policy loss: per token, per sequence (GSPO), or 1 with the token ratio's gradient.
enum class ImportanceSampling { kToken, kSequence, kManualOnPolicy };
constexpr auto names_of(ImportanceSampling) {
  return std::to_array<Named<ImportanceSampling>>({{ImportanceSampling::kToken, "token"},
                                                   {ImportanceSampling::kSequence, "seq"},
                                                   {ImportanceSampling::kManualOnPolicy, "manual_on_policy"}});
}

/// KL estimators from one sample; formulae: terms.h.
enum class KlPenalty { kKl, kAbs, kMse, kK3 };
constexpr auto names_of(KlPenalty) {
  return std::to_array<Named<KlPenalty>>(
      {{KlPenalty::kKl, "kl"}, {KlPenalty::kAbs, "abs"}, {KlPenalty::kMse, "mse"}, {KlPenalty::kK3, "k3"}});
}
constexpr auto refused_names_of(KlPenalty) {
  return std::to_array<RefusedName>({{"full",
                                      "needs both models' probabilities of the whole vocabulary at every token, which "
                                      "are not kept; k3 and kl estimate the same from the sampled tokens"}});
}

/// Divergence between student and teacher in distillation; formulae: terms.h.
enum class KdObjective { kForwardKl, kReverseKl, kAdaptiveKl, kSkewedForwardKl, kSkewedReverseKl, kJsDivergence };
constexpr auto names_of(KdObjective) {
  return std::to_array<Named<KdObjective>>({{KdObjective::kForwardKl, "forward_kl"},
                                            {KdObjective::kReverseKl, "reverse_kl"},
                                            {KdObjective::kAdaptiveKl, "adaptive_kl"},
                                            {KdObjective::kSkewedForwardKl, "skewed_forward_kl"},
                                            {KdObjective::kSkewedReverseKl, "skewed_reverse_kl"},
                                            {KdObjective::kJsDivergence, "js_divergence"}});
}

/// Keys of `roll distill`, named as in ROLL.
struct DivergenceArgs {
  KdObjective kd_objective = KdObjective::kForwardKl;
  double kd_temperature = 1;
  double teacher_temperature = 1;
  double adaptive_kl_alpha = 0.5;
  double skew_lambda = 0.1;
  double distill_loss_weight = 0.5;

  template <class V>
  void fields(V& v) {
    v("kd_objective", kd_objective, "what pulls the student's distribution to the teacher's");
    v("kd_temperature", kd_temperature, "the logits of both are divided by it", within(0.001, 1000));
    v("teacher_temperature", teacher_temperature, "the teacher's logits are divided by it, too", within(0.001, 1000));
    v("adaptive_kl_alpha", adaptive_kl_alpha,
      "adaptive_kl: the unlikely tokens that have so much of the teacher's probability together are its tail",
      within(0, 1));
    v("skew_lambda", skew_lambda, "skewed_*_kl: how much of the own distribution is mixed into the other's",
      within(0, 1));
    v("distill_loss_weight", distill_loss_weight,
      "part of the divergence in the loss; the rest is the written tokens' cross-entropy", within(0, 1));
  }
};

struct LossSettings;
struct PolicyInputs;
struct PolicyLoss;

/// Registry row of a policy loss: its name and its function, both in policy.cpp.
struct PolicyLossKind {
  const char* name;
  bool needs_sign = false;          // reads the sign of each sequence's score
  const char* own_ratio = nullptr;  // set if the loss ignores importance_sampling: words for its own ratio
  PolicyLoss (*compute)(const PolicyInputs& in, const LossSettings& settings);
};
std::span<const PolicyLossKind> rows_of(const PolicyLossKind*);

/// Policy loss and its settings: keys of actor_train, named as in ROLL (formulae: policy.h).
struct PolicyArgs {
  Chosen<PolicyLossKind> pg_variant = "ppo";
  double tis_lower_bound = 0;
  double tis_upper_bound = 1;
  double topr_positive_weight = 1;
  double topr_negative_weight = 1;
  double cispo_epsilon_low = 0.1;
  double cispo_epsilon_high = 0.1;
  bool cispo_use_unified_mask = false;
  double kimi15_tau = 0.1;
  double gmpo_epsilon_low = 0.4;
  double gmpo_epsilon_high = 0.4;
  double sapo_tau_pos = 1;
  double sapo_tau_neg = 1.05;
  double dppo_threshold_low = 0.2;
  double dppo_threshold_high = 0.2;
  double dppo_max_ratio = 20;

  template <class V>
  void fields(V& v) {
    v("pg_variant", pg_variant, "which policy loss");
    v("tis_lower_bound", tis_lower_bound, "tis: the ratio that weighs a token is kept >= this", within(0, 1'000'000));
    v("tis_upper_bound", tis_upper_bound, "tis: and <= this", within(0, 1'000'000));
    v("topr_positive_weight", topr_positive_weight, "topr: weight of responses with a score above 0",
      within(0, 1'000'000));
    v("topr_negative_weight", topr_negative_weight, "topr: weight of the others", within(0, 1'000'000));
    v("cispo_epsilon_low", cispo_epsilon_low, "cispo: the ratio that weighs a token is kept >= 1 - this", within(0, 1));
    v("cispo_epsilon_high", cispo_epsilon_high, "cispo: and <= 1 + this", within(0, 1'000'000));
    v("cispo_use_unified_mask", cispo_use_unified_mask, "cispo: no gradient where PPO's clip would have none");
    v("kimi15_tau", kimi15_tau, "kimi15, kimi15_response: weight of the squared log-ratio", within(0, 1'000'000));
    v("gmpo_epsilon_low", gmpo_epsilon_low, "gmpo: a token's log-ratio is kept >= -this where A < 0",
      within(0, 1'000'000));
    v("gmpo_epsilon_high", gmpo_epsilon_high, "gmpo: and <= this where A > 0", within(0, 1'000'000));
    v("sapo_tau_pos", sapo_tau_pos, "sapo: how fast a token with A > 0 fades as its ratio leaves 1",
      within(0.001, 1000));
    v("sapo_tau_neg", sapo_tau_neg, "sapo: and one with A <= 0", within(0.001, 1000));
    v("dppo_threshold_low", dppo_threshold_low, "dppo_tv, dppo_kl: beyond this divergence no token is made less likely",
      within(0, 1000));
    v("dppo_threshold_high", dppo_threshold_high, "dppo_tv, dppo_kl: and beyond this none more likely",
      within(0, 1000));
    v("dppo_max_ratio", dppo_max_ratio, "dppo_tv, dppo_kl: the ratio that weighs a token is kept <= this",
      within(0, 1'000'000));
  }
};

/// Function of a shared library that replaces a loss or its reduction (roll/loss.h). Unused if `library` is empty.
struct PluginArgs {
  std::string library;
  std::string name;
  std::map<std::string, std::string> args;

  explicit operator bool() const { return !library.empty(); }

  template <class V>
  void fields(V& v) {
    v("library", library, "path of the shared library; empty: none");
    v("name", name, "the name it was given in ROLL_LOSS(name, function)");
    v("args", args, "settings that the function may ask for");
  }
};

/// Keys of the policy, value and fine-tuning losses.
struct LossConfig {
  double pg_clip = 0.2;
  bool use_pg_clip_range = false;
  double pg_clip_low = 0.2;
  double pg_clip_high = 0.2;
  bool dual_clip_loss = false;
  std::optional<double> dual_clip_c{};
  std::optional<double> value_clip{};
  AggMode loss_agg_mode = AggMode::kSeqMeanTokenMean;
  std::optional<Aggregation> loss_aggregation{};
  std::optional<double> loss_aggregation_divisor{};
  bool calculate_per_token_loss = false;
  std::vector<std::string> loss_mask_keys = {"response_mask", "final_response_mask"};
  bool use_kl_loss = false;
  double kl_loss_coef = 0;
  KlPenalty kl_loss_penalty = KlPenalty::kK3;
  double entropy_loss_coef = 0;
  ImportanceSampling importance_sampling = ImportanceSampling::kToken;
  double rl_loss_coef = 1;
  double positive_loss_coef = 0;
  bool difficulty_loss_weight = false;
  std::vector<double> difficulty_range = {0, 1};
  bool length_loss_weight = false;

  /// Keys that all trainers share, supervised fine-tuning included.
  template <class V>
  void aggregation_fields(V& v) {
    v("loss_agg_mode", loss_agg_mode, "how token losses become the mini-batch's loss");
    v("loss_aggregation", loss_aggregation, "the ScaleRL spelling of loss_agg_mode; set one of the two");
    v("loss_aggregation_divisor", loss_aggregation_divisor,
      "L of the modes constant and seq-mean-token-sum-norm; of the latter, null is sequence_length - 1",
      above_to(0, 1e12));
    v("calculate_per_token_loss", calculate_per_token_loss, "the older spelling of mode token-mean");
    v("loss_mask_keys", loss_mask_keys, "masks whose tokens and sequences are counted over the whole mini-batch");
  }

  template <class V>
  void fields(V& v) {
    v("pg_clip", pg_clip, "ratio is kept in 1 -+ pg_clip, so above 1 it has no lower bound: pg_clip_low, pg_clip_high",
      above_to(0, 1));
    v("use_pg_clip_range", use_pg_clip_range, "use pg_clip_low and pg_clip_high instead of pg_clip");
    v("pg_clip_low", pg_clip_low, "ratio is kept >= 1 - pg_clip_low", within(0, 1));
    v("pg_clip_high", pg_clip_high, "ratio is kept <= 1 + pg_clip_high", within(0, 1'000'000));
    v("dual_clip_loss", dual_clip_loss, "bounds the term of a negative advantage by dual_clip_c x advantage");
    v("dual_clip_c", dual_clip_c, "factor of the dual clip; null is 1 + 2 x pg_clip", above_to(1, 1'000'000));
    v("value_clip", value_clip, "new values stay within -+ value_clip of the old ones; null: unclipped",
      above_to(0, 1'000'000));
    aggregation_fields(v);
    v("use_kl_loss", use_kl_loss, "add kl_loss_coef x KL(policy, reference) to the loss");
    v("kl_loss_coef", kl_loss_coef, "weight of the KL term of the loss", within(0, 1'000'000));
    v("kl_loss_penalty", kl_loss_penalty, "estimate of the KL in the loss; mse is k2");
    v("entropy_loss_coef", entropy_loss_coef, "weight of the entropy bonus", within(-1'000'000, 1'000'000));
    v("importance_sampling", importance_sampling,
      "ratio per token (PPO), per sequence (GSPO), or always 1 with its gradient");
    v("rl_loss_coef", rl_loss_coef, "weight of the policy-gradient term", within(0, 1'000'000));
    v("positive_loss_coef", positive_loss_coef,
      "weight of the negative log-likelihood of right responses, those with a score above 0", within(0, 1'000'000));
    v("difficulty_loss_weight", difficulty_loss_weight, "weigh sequences by the difficulty of their prompt");
    v("difficulty_range", difficulty_range,
      "difficulties of the rows that weigh least and most; what lies outside counts as the nearer end",
      within(-1'000'000, 1'000'000));
    v("length_loss_weight", length_loss_weight, "weigh sequences by the length of their response");
  }
};

}  // namespace roll
