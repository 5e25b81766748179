// Keys that turn rewards into advantages: masks, normalisation, KL in the reward, the estimator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/names.h"
#include "loss/config.h"

namespace roll {

class Keys;

struct Part;
struct ExperienceConfig;
struct AdvantagesAndReturns;

/// Over which responses a reward's mean or deviation is taken.
enum class NormType { kBatch, kGroup, kRunning };
constexpr auto names_of(NormType) {
  return std::to_array<Named<NormType>>(
      {{NormType::kBatch, "batch"}, {NormType::kGroup, "group"}, {NormType::kRunning, "running"}});
}

/// How often a trajectory's reward counts in the statistics of GiGPO's episodes.
enum class EpisodeStatistics { kTurns, kTrajectories };
constexpr auto names_of(EpisodeStatistics) {
  return std::to_array<Named<EpisodeStatistics>>(
      {{EpisodeStatistics::kTurns, "turns"}, {EpisodeStatistics::kTrajectories, "trajectories"}});
}

/// Over what rewards are normalised; none: they keep their mean, or their deviation.
struct Normalisation {
  std::optional<NormType> mean, deviation;
};

/// How advantages come from token rewards: a function and its row, both in advantages.cpp.
struct AdvantageEstimator {
  const char* name;
  bool needs_values = false;       // of a critic
  bool reads_energies = false;     // of the forward that gives old log-probs
  bool separates_rewards = false;  // normalises each part of a reward by itself
  bool compares_group = false;     // the responses of a prompt with each other
  bool samples_baseline = false;   // a greedy response to each prompt, whose reward is taken off the others'
  bool weighs_turns = false;       // of trajectories in environments, each by itself
  bool discounts = true;           // by gamma; else all tokens of a response have one advantage
  bool whitens = false;            // advantages get mean 0 and variance 1
  Normalisation normalisation{};   // of the rewards, before they become token rewards
  /// **Collective** over the part's ranks.
  AdvantagesAndReturns (*compute)(const Part& part, const ExperienceConfig& config);
};
std::span<const AdvantageEstimator> rows_of(const AdvantageEstimator*);

/// What is judged or weighed as one when sampler and trainer disagree; correction.h.
enum class CorrectionLevel { kToken, kSegment, kGeometric, kSequence };
constexpr auto names_of(CorrectionLevel) {
  return std::to_array<Named<CorrectionLevel>>({{CorrectionLevel::kToken, "token"},
                                                {CorrectionLevel::kSegment, "segment"},
                                                {CorrectionLevel::kGeometric, "geometric"},
                                                {CorrectionLevel::kSequence, "sequence"}});
}

/// Importance weights on the policy loss; correction.h says of what.
struct ImportanceWeights {
  bool enabled = false;
  CorrectionLevel weight_type = CorrectionLevel::kToken;
  std::optional<double> upper_bound = 1.2;
  std::optional<double> lower_bound{};
  bool zero_outside = false;

  void fields(Keys& v);
};

/// A filter on the policy loss.
struct CorrectionFilter {
  bool enabled = false;
  CorrectionLevel agg_type = CorrectionLevel::kToken;
  bool ratio_enabled = true;
  double ratio_low = 0.8;
  double ratio_high = 1.2;
  bool diff_enabled = false;
  double diff_low = -0.2;
  double diff_high = 0.2;

  void fields(Keys& v);
};

struct TrainInferCorrection {
  ImportanceWeights is_weight;
  std::vector<CorrectionFilter> filters;

  bool is_enabled() const {
    for (const CorrectionFilter& filter : filters)
      if (filter.enabled) return true;
    return is_weight.enabled;
  }

  void fields(Keys& v);
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

  /// On-policy distillation: a teacher's KL is in the advantages, or all that is in them.
  bool distils() const { return is_pure_opd || use_opd; }
  /// norm_mean_type and norm_std_type, or what the estimator wants where they are null.
  Normalisation normalisation() const {
    const auto& [mean, deviation] = adv_estimator->normalisation;
    return {norm_mean_type ? norm_mean_type : mean, norm_std_type ? norm_std_type : deviation};
  }
  bool whitens() const { return whiten_advantages || adv_estimator->whitens; }
  /// An adaptive coefficient is only ever multiplied: one that starts at 0 stays there.
  bool penalises_kl() const { return add_token_level_kl && init_kl_coef > 0; }

  void fields(Keys& v);

 private:
  void kl_and_mask_fields(Keys& v);
};

}  // namespace roll
