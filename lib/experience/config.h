// Configuration keys for computing advantages from rewards: masks, normalisation, KL in the reward, the estimator.
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

/// Responses over which a reward's mean or deviation is taken.
enum class NormType { kBatch, kGroup, kRunning };
constexpr auto enum_names(NormType) {
  return std::to_array<Named<NormType>>(
      {{NormType::kBatch, "batch"}, {NormType::kGroup, "group"}, {NormType::kRunning, "running"}});
}

/// Weight of a trajectory in GiGPO's group statistics: once per turn, or once.
enum class EpisodeStatistics { kTurns, kTrajectories };
constexpr auto enum_names(EpisodeStatistics) {
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
std::span<const AdvantageEstimator> registry(const AdvantageEstimator*);

/// Unit that is weighted or filtered when sampler and trainer disagree; see correction.h.
enum class CorrectionLevel { kToken, kSegment, kGeometric, kSequence };
constexpr auto enum_names(CorrectionLevel) {
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

  void fields(Keys& v);
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

  void fields(Keys& v);

 private:
  void kl_and_mask_fields(Keys& v);
};

}  // namespace roll
