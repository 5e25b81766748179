// Configuration keys of the losses. Each field of a struct with fields() is the configuration key of the same name;
// fields() declares the keys with their help texts (config.cpp; those of PolicyArgs in policy.cpp, beside the policy
// losses). loss_settings() (settings.h) turns the keys into LossSettings, from which losses.h computes.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/names.h"

namespace roll {

class Keys;

/// Values of loss_agg_mode: aggregation of token losses over a mini-batch; formulae: aggregate.h.
enum class AggMode { kTokenMean, kSeqMeanTokenSum, kSeqMeanTokenMean, kSeqMeanTokenSumNorm, kPromptMean, kConstant };
constexpr auto enum_names(AggMode) {
  return std::to_array<Named<AggMode>>({{AggMode::kTokenMean, "token-mean"},
                                        {AggMode::kSeqMeanTokenSum, "seq-mean-token-sum"},
                                        {AggMode::kSeqMeanTokenMean, "seq-mean-token-mean"},
                                        {AggMode::kSeqMeanTokenSumNorm, "seq-mean-token-sum-norm"},
                                        {AggMode::kPromptMean, "prompt-mean"},
                                        {AggMode::kConstant, "constant"}});
}

/// Values of loss_aggregation, ScaleRL's names for some values of AggMode (agg_mode() in aggregate.h).
enum class Aggregation { kTokenMean, kSampleMean, kPromptMean, kConstant };
constexpr auto enum_names(Aggregation) {
  return std::to_array<Named<Aggregation>>({{Aggregation::kTokenMean, "token_mean"},
                                            {Aggregation::kSampleMean, "sample_mean"},
                                            {Aggregation::kPromptMean, "prompt_mean"},
                                            {Aggregation::kConstant, "constant"}});
}

/// Importance ratio pi / pi_old in the policy loss: per token, per sequence (GSPO), or the value 1 with the gradient of
/// the token's ratio.
enum class ImportanceSampling { kToken, kSequence, kManualOnPolicy };
constexpr auto enum_names(ImportanceSampling) {
  return std::to_array<Named<ImportanceSampling>>({{ImportanceSampling::kToken, "token"},
                                                   {ImportanceSampling::kSequence, "seq"},
                                                   {ImportanceSampling::kManualOnPolicy, "manual_on_policy"}});
}

/// KL estimators from one sample; formulae: terms.h.
enum class KlPenalty { kKl, kAbs, kMse, kK3 };
constexpr auto enum_names(KlPenalty) {
  return std::to_array<Named<KlPenalty>>(
      {{KlPenalty::kKl, "kl"}, {KlPenalty::kAbs, "abs"}, {KlPenalty::kMse, "mse"}, {KlPenalty::kK3, "k3"}});
}
constexpr auto refused_enum_names(KlPenalty) {
  return std::to_array<RefusedName>({{"full",
                                      "needs both models' probabilities of the whole vocabulary at every token, which "
                                      "are not kept; k3 and kl estimate the same from the sampled tokens"}});
}

/// Divergence between student and teacher in distillation; formulae: terms.h.
enum class KdObjective { kForwardKl, kReverseKl, kAdaptiveKl, kSkewedForwardKl, kSkewedReverseKl, kJsDivergence };
constexpr auto enum_names(KdObjective) {
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
  double kd_temperature = 1;       // divides the logits of student and teacher
  double teacher_temperature = 1;  // divides the teacher's logits once more
  /// adaptive_kl: the least likely tokens are the tail, as long as their teacher probabilities add up to at most this.
  double adaptive_kl_alpha = 0.5;
  double skew_lambda = 0.1;          // skewed_*_kl: share of the first distribution mixed into the second
  double distill_loss_weight = 0.5;  // weight of the divergence; the negative log-likelihood has weight 1 - this

  void fields(Keys& v);
};

struct LossSettings;
struct PolicyInputs;
struct PolicyLoss;

/// Row of the table of policy losses (policy.cpp), which the key pg_variant chooses from by name.
struct PolicyLossKind {
  const char* name;                 // value of the key
  bool needs_sign = false;          // reads the sign of each sequence's score
  const char* own_ratio = nullptr;  // describes its ratio in messages; null: the ratio follows importance_sampling
  /// Returns the loss per token; inputs and result: policy.h.
  PolicyLoss (*compute)(const PolicyInputs& in, const LossSettings& settings);
};
/// Returns the table. The argument only selects the overload; Chosen<PolicyLossKind> calls it.
std::span<const PolicyLossKind> registry(const PolicyLossKind*);

/// Policy loss and its settings: keys of actor_train, named as in ROLL. A prefix (tis_, topr_, ...) names the variant
/// that reads the key; formulae: policy.h.
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

  void fields(Keys& v);
};

/// Function of a shared library that replaces a loss, or the reduction of the policy term (roll/loss.h).
struct PluginArgs {
  std::string library;                      // path of the shared library; empty: no plug-in
  std::string name;                         // name in ROLL_LOSS(name, function)
  std::map<std::string, std::string> args;  // settings that the function reads

  /// True if a plug-in is configured.
  explicit operator bool() const { return !library.empty(); }

  void fields(Keys& v);
};

/// Keys of the policy, value and fine-tuning losses.
struct LossConfig {
  double pg_clip = 0.2;            // PPO clips the ratio to 1 -+ pg_clip
  bool use_pg_clip_range = false;  // clips to [1 - pg_clip_low, 1 + pg_clip_high] instead
  double pg_clip_low = 0.2;
  double pg_clip_high = 0.2;
  bool dual_clip_loss = false;          // bounds the term of a negative advantage (dual_clip())
  std::optional<double> dual_clip_c{};  // null: 1 + 2 pg_clip
  std::optional<double> value_clip{};   // clips new values to old ones -+ value_clip; null: unclipped
  AggMode loss_agg_mode = AggMode::kSeqMeanTokenMean;
  std::optional<Aggregation> loss_aggregation{};     // another spelling of loss_agg_mode; null: not used
  std::optional<double> loss_aggregation_divisor{};  // L of some modes (aggregate.h)
  bool calculate_per_token_loss = false;             // an older spelling of mode token-mean
  /// Masks whose tokens and sequences are counted over the whole mini-batch; a loss can only use these.
  std::vector<std::string> loss_mask_keys = {"response_mask", "final_response_mask"};
  bool use_kl_loss = false;  // adds kl_loss_coef x KL(policy, reference) to the loss
  double kl_loss_coef = 0;
  KlPenalty kl_loss_penalty = KlPenalty::kK3;
  double entropy_loss_coef = 0;  // weight of the entropy bonus
  ImportanceSampling importance_sampling = ImportanceSampling::kToken;
  double rl_loss_coef = 1;                        // weight of the policy term with its KL
  double positive_loss_coef = 0;                  // weight of the negative log-likelihood of responses with score > 0
  bool difficulty_loss_weight = false;            // weighs sequences by the difficulty of their prompt
  std::vector<double> difficulty_range = {0, 1};  // difficulties with the smallest and the largest weight
  bool length_loss_weight = false;                // weighs sequences by the length of their response

  /// Declares the keys of aggregation, which all trainers share, supervised fine-tuning included.
  void aggregation_fields(Keys& v);

  void fields(Keys& v);
};

}  // namespace roll
