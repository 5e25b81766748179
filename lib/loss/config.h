// Configuration keys of the losses (LossConfig, PolicyArgs, DivergenceArgs, PluginArgs). aggregate.h explains the
// modes.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/names.h"

namespace roll {

class Keys;

enum class AggMode { kTokenMean, kSeqMeanTokenSum, kSeqMeanTokenMean, kSeqMeanTokenSumNorm, kPromptMean, kConstant };
constexpr auto enum_names(AggMode) {
  return std::to_array<Named<AggMode>>({{AggMode::kTokenMean, "token-mean"},
                                        {AggMode::kSeqMeanTokenSum, "seq-mean-token-sum"},
                                        {AggMode::kSeqMeanTokenMean, "seq-mean-token-mean"},
                                        {AggMode::kSeqMeanTokenSumNorm, "seq-mean-token-sum-norm"},
                                        {AggMode::kPromptMean, "prompt-mean"},
                                        {AggMode::kConstant, "constant"}});
}

/// loss_aggregation, the ScaleRL spelling.
enum class Aggregation { kTokenMean, kSampleMean, kPromptMean, kConstant };
constexpr auto enum_names(Aggregation) {
  return std::to_array<Named<Aggregation>>({{Aggregation::kTokenMean, "token_mean"},
                                            {Aggregation::kSampleMean, "sample_mean"},
                                            {Aggregation::kPromptMean, "prompt_mean"},
                                            {Aggregation::kConstant, "constant"}});
}

/// Importance ratio of the policy loss: per token, per sequence (GSPO), or 1 with the token ratio's gradient.
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
  double kd_temperature = 1;
  double teacher_temperature = 1;
  double adaptive_kl_alpha = 0.5;
  double skew_lambda = 0.1;
  double distill_loss_weight = 0.5;

  void fields(Keys& v);
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
std::span<const PolicyLossKind> registry(const PolicyLossKind*);

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

  void fields(Keys& v);
};

/// Function of a shared library that replaces a loss or its reduction (roll/loss.h). Unused if `library` is empty.
struct PluginArgs {
  std::string library;
  std::string name;
  std::map<std::string, std::string> args;

  explicit operator bool() const { return !library.empty(); }

  void fields(Keys& v);
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
  void aggregation_fields(Keys& v);

  void fields(Keys& v);
};

}  // namespace roll
