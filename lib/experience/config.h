// Configuration keys for computing advantages from rewards: masks, normalisation, KL in the reward, the estimator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/names.h"
#include "config/range.h"
#include "loss/config.h"

namespace roll {

struct Part;
struct ExperienceConfig;
struct AdvantagesAndReturns;

/// Responses over which a reward's mean or deviation is taken.
enum class NormType { kBatch, kGroup, kRunning };
constexpr auto names_of(NormType) {
  return std::to_array<Named<NormType>>(
      {{NormType::kBatch, "batch"}, {NormType::kGroup, "group"}, {NormType::kRunning, "running"}});
}

/// Weight of a trajectory in GiGPO's group statistics: once per turn, or once.
enum class EpisodeStatistics { kTurns, kTrajectories };
constexpr auto names_of(EpisodeStatistics) {
  return std::to_array<Named<EpisodeStatistics>>(
      {{EpisodeStatistics::kTurns, "turns"}, {EpisodeStatistics::kTrajectories, "trajectories"}});
}

/// Normalisation of rewards; an unset part is not applied.
struct Normalisation {
  std::optional<NormType> mean, deviation;
};

/// Advantage estimator from token rewards: its row and function, both in advantages.cpp.
struct AdvantageEstimator {
  const char* name;
  bool needs_values = false;       // needs a critic
  bool reads_energies = false;     // needs `energies` from the forward that computes old log-probs
  bool separates_rewards = false;  // normalises each reward part separately
  bool compares_group = false;     // compares a prompt's responses
  bool samples_baseline = false;   // samples a greedy response per prompt, whose reward is subtracted
  bool weighs_turns = false;       // computes an advantage per turn of a trajectory
  bool discounts = true;           // by gamma; false: one advantage per response or turn
  bool whitens = false;            // advantages get mean 0 and variance 1
  Normalisation normalisation{};   // applied to rewards before they become token rewards
  /// Computes advantages and returns. **Collective** over the part's ranks.
  AdvantagesAndReturns (*compute)(const Part& part, const ExperienceConfig& config);
};
std::span<const AdvantageEstimator> rows_of(const AdvantageEstimator*);

/// Unit that is weighted or filtered when sampler and trainer disagree; see correction.h.
enum class CorrectionLevel { kToken, kSegment, kGeometric, kSequence };
constexpr auto names_of(CorrectionLevel) {
  return std::to_array<Named<CorrectionLevel>>({{CorrectionLevel::kToken, "token"},
                                                {CorrectionLevel::kSegment, "segment"},
                                                {CorrectionLevel::kGeometric, "geometric"},
                                                {CorrectionLevel::kSequence, "sequence"}});
}

/// Importance weights on the policy loss; see correction.h.
struct ImportanceWeights {
  bool enabled = false;
  CorrectionLevel weight_type = CorrectionLevel::kToken;
  std::optional<double> upper_bound = 1.2;
  std::optional<double> lower_bound{};
  bool zero_outside = false;

  template <class V>
  void fields(V& v) {
    v("enabled", enabled, "weigh the policy loss by trainer's over sampler's probabilities");
    v("weight_type", weight_type, "whose ratio the weight is");
    v("upper_bound", upper_bound, "larger weights are cut to this (TIS); null: none is", above_to(0, 1'000'000));
    v("lower_bound", lower_bound, "smaller weights are raised to this; null: none is", within(0, 1'000'000));
    v("zero_outside", zero_outside,
      "weights outside the bounds become 0 instead, and their tokens still count (IcePop)");
    v.noted({"detach"}, "the weights are constants here: no gradient could flow through them");
  }
};

/// Filter on the policy loss; see correction.h.
struct CorrectionFilter {
  bool enabled = false;
  CorrectionLevel agg_type = CorrectionLevel::kToken;
  bool ratio_enabled = true;
  double ratio_low = 0.8;
  double ratio_high = 1.2;
  bool diff_enabled = false;
  double diff_low = -0.2;
  double diff_high = 0.2;

  template <class V>
  void fields(V& v) {
    v("enabled", enabled, "apply this filter");
    v("agg_type", agg_type, "what is judged and dropped");
    v("ratio_enabled", ratio_enabled, "keep where ratio_low <= trainer's / sampler's probability <= ratio_high");
    v("ratio_low", ratio_low, "smallest ratio that is kept", within(0, 1'000'000));
    v("ratio_high", ratio_high, "largest ratio that is kept", within(0, 1'000'000));
    v("diff_enabled", diff_enabled, "keep where diff_low <= trainer's - sampler's probability <= diff_high");
    v("diff_low", diff_low, "smallest difference that is kept", within(-1'000'000, 1'000'000));
    v("diff_high", diff_high, "largest difference that is kept", within(-1'000'000, 1'000'000));
  }
};

struct TrainInferCorrection {
  ImportanceWeights is_weight;
  std::vector<CorrectionFilter> filters;

  bool is_enabled() const {
    for (const CorrectionFilter& filter : filters)
      if (filter.enabled) return true;
    return is_weight.enabled;
  }

  template <class V>
  void fields(V& v) {
    v("is_weight", is_weight, "importance weights");
    v("filters", filters, "what leaves the policy loss, one after the other");
  }
};

struct ExperienceConfig {
  Chosen<AdvantageEstimator> adv_estimator = "gae";
  double gamma = 1;
  double lambd = 0.95;
  std::optional<double> lambd_critic{};
  std::optional<double> lambd_alpha{};
  double reward_baseline = 0;
  std::optional<double> reward_clip{};
  std::optional<double> advantage_clip{};
  std::optional<NormType> norm_mean_type{};
  std::optional<NormType> norm_std_type{};
  double step_reward_gamma = 0.95;
  double episode_reward_weight = 1;
  double step_reward_weight = 1;
  EpisodeStatistics episode_statistics = EpisodeStatistics::kTurns;
  bool statistics_per_domain = true;
  bool whiten_rewards = false;
  bool whiten_advantages = false;
  bool add_token_level_kl = false;
  KlPenalty kl_penalty = KlPenalty::kKl;
  double init_kl_coef = 0.2;
  std::optional<double> target_kl{};
  int64_t kl_horizon = 10000;
  bool max_len_mask = false;
  bool difficulty_mask = false;
  double difficulty_low_threshold = 0;
  double difficulty_high_threshold = 1;
  bool error_max_len_clip = false;
  std::optional<int64_t> error_max_len_threshold{};
  bool bootstrap_truncated = false;
  TrainInferCorrection train_infer_correction{};
  bool is_pure_opd = false;
  bool use_opd = false;

  /// Returns true for on-policy distillation: a teacher's KL is added to the advantages or replaces them.
  bool distils() const { return is_pure_opd || use_opd; }
  /// Returns norm_mean_type and norm_std_type, or the estimator's defaults where they are null.
  Normalisation normalisation() const {
    const auto& [mean, deviation] = adv_estimator->normalisation;
    return {norm_mean_type ? norm_mean_type : mean, norm_std_type ? norm_std_type : deviation};
  }
  bool whitens() const { return whiten_advantages || adv_estimator->whitens; }
  /// Returns false for a coefficient of 0, because the adaptive rule only multiplies it.
  bool penalises_kl() const { return add_token_level_kl && init_kl_coef > 0; }

  template <class V>
  void fields(V& v) {
    v("adv_estimator", adv_estimator, "how advantages come from token rewards");
    v("gamma", gamma, "discount of later rewards", within(0, 1));
    v("lambd", lambd, "lambda of GAE", within(0, 1));
    v("lambd_critic", lambd_critic, "lambda of the critic's targets (decoupled GAE); null: lambd", within(0, 1));
    v("lambd_alpha", lambd_alpha,
      "lambda of the advantages is 1 - 1 / (lambd_alpha x tokens of the response), at least 0; null: lambd",
      above_to(0, 1'000'000));
    v("reward_baseline", reward_baseline,
      "a constant that is taken off every reward first; 0.5 makes +-0.5 of 0 and 1, so that wrong responses teach too",
      within(-1'000'000, 1'000'000));
    v("reward_clip", reward_clip,
      "rewards are kept within -+ reward_clip, once they are normalised and once the KL is off them; null: unclipped",
      above_to(0, 1'000'000));
    v("advantage_clip", advantage_clip, "advantages are kept within -+ advantage_clip; null: unclipped",
      above_to(0, 1'000'000));
    v("norm_mean_type", norm_mean_type, "mean that is taken off the rewards");
    v("norm_std_type", norm_std_type, "deviation that rewards are divided by");
    v("step_reward_gamma", step_reward_gamma, "gigpo, step_reinforce: discount of the rewards of later turns",
      within(0, 1));
    v("episode_reward_weight", episode_reward_weight, "gigpo: weight of the trajectory's reward", within(0, 1'000'000));
    v("step_reward_weight", step_reward_weight, "gigpo: weight of the turn's return", within(0, 1'000'000));
    v("episode_statistics", episode_statistics,
      "gigpo: mean and deviation of the trajectories' rewards count each trajectory once (trajectories: the paper, "
      "arXiv 2505.10978) or once for each of its turns (turns: ROLL)");
    v("statistics_per_domain", statistics_per_domain,
      "rewards are normalised and whitened, and the KL controlled, domain by domain; false: over the whole batch");
    v("whiten_rewards", whiten_rewards, "token rewards get mean 0 and variance 1");
    v("whiten_advantages", whiten_advantages, "advantages get mean 0 and variance 1");
    v("add_token_level_kl", add_token_level_kl, "take kl_coef x KL(old, reference) off each token's reward");
    v("kl_penalty", kl_penalty, "estimate of the KL in the token reward, and of that to a teacher");
    v("init_kl_coef", init_kl_coef, "kl_coef at the first step", within(0, 1'000'000));
    v("target_kl", target_kl, "adapt kl_coef towards this KL; null: kl_coef is constant", above_to(0, 1'000'000));
    v("kl_horizon", kl_horizon, "sequences over which the adaptive kl_coef reacts", at_least(1));
    v("max_len_mask", max_len_mask, "responses cut at the length limit carry no loss");
    v("difficulty_mask", difficulty_mask, "only groups with a mean score between the two thresholds carry loss");
    v("difficulty_low_threshold", difficulty_low_threshold, "groups at or below this mean score carry no loss",
      within(-1'000'000, 1'000'000));
    v("difficulty_high_threshold", difficulty_high_threshold, "groups at or above this mean score carry no loss",
      within(-1'000'000, 1'000'000));
    v("error_max_len_clip", error_max_len_clip, "wrong responses above error_max_len_threshold carry no loss");
    v("error_max_len_threshold", error_max_len_threshold, "tokens; see error_max_len_clip", at_least(1));
    v("bootstrap_truncated", bootstrap_truncated, "GAE of a truncated response ends in the critic's value, not in 0");
    v("is_pure_opd", is_pure_opd,
      "on-policy distillation alone: advantages are -KL(policy, teacher) of each token. ROLL's names student_train and "
      "student_infer for actor_train and actor_infer say so, too");
    v("use_opd", use_opd, "on-policy distillation beside the rewards: KL(policy, teacher) is taken off the advantages");
    v("train_infer_correction", train_infer_correction, "where sampler and trainer disagree on probabilities");
  }
};

}  // namespace roll
