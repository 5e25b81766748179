// Configuration keys for computing advantages from rewards: masks, normalisation, KL in the reward, the estimator. Each
// member of a struct with fields() is a key with the member's name; fields() (config.cpp) declares the keys with their
// help texts. Read by build.cpp and the estimators.
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

/// Responses over which the mean or deviation of rewards is taken. kBatch: responses of the step; kGroup: of the
/// prompt; kRunning: of the run so far. With statistics_per_domain, only responses of the same domain count.
enum class NormType { kBatch, kGroup, kRunning };
constexpr auto enum_names(NormType) {
  return std::to_array<Named<NormType>>(
      {{NormType::kBatch, "batch"}, {NormType::kGroup, "group"}, {NormType::kRunning, "running"}});
}

/// Weight of a trajectory in GiGPO's group statistics. kTurns: it counts once per turn; kTrajectories: once.
enum class EpisodeStatistics { kTurns, kTrajectories };
constexpr auto enum_names(EpisodeStatistics) {
  return std::to_array<Named<EpisodeStatistics>>(
      {{EpisodeStatistics::kTurns, "turns"}, {EpisodeStatistics::kTrajectories, "trajectories"}});
}

/// Normalisation of rewards: (reward - mean) / deviation.
struct Normalisation {
  std::optional<NormType> mean, deviation;  // unset: no mean is subtracted, or no division by a deviation
};

/// Row of the table of advantage estimators (advantages.cpp), which the key adv_estimator chooses from by name.
struct AdvantageEstimator {
  const char* name;                // value of the key
  bool needs_values = false;       // needs a critic
  bool reads_energies = false;     // needs Experience::energies
  bool separates_rewards = false;  // normalises each reward part separately
  bool compares_group = false;     // compares a prompt's responses
  bool samples_baseline = false;   // samples a greedy response per prompt, whose reward is subtracted
  bool weighs_turns = false;       // computes an advantage per turn of a trajectory
  bool discounts = true;           // discounts later token rewards by gamma; false: one advantage per response or turn
  bool whitens = false;            // advantages get mean 0 and variance 1
  Normalisation normalisation{};   // applied to rewards before they become token rewards
  /// Computes advantages and returns. **Collective** over the part's ranks.
  AdvantagesAndReturns (*compute)(const Part& part, const ExperienceConfig& config);
};
/// Returns the table. The parameter only selects this overload; pass null. Chosen<AdvantageEstimator> calls it.
std::span<const AdvantageEstimator> registry(const AdvantageEstimator*);

/// Tokens that get one common weight or filter decision when sampler and trainer disagree. kToken: each token alone.
/// kSegment: the tokens of a turn. kGeometric, kSequence: the tokens of a context, by the mean or sum over them.
/// Formulae: correction.h.
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
  std::optional<double> upper_bound = 1.2;  // null: no bound
  std::optional<double> lower_bound{};      // null: no bound
  bool zero_outside = false;                // weights outside the bounds become 0; false: they become the bound

  void fields(Keys& v);
};

/// Filter on the policy loss; see correction.h.
struct CorrectionFilter {
  bool enabled = false;
  CorrectionLevel agg_type = CorrectionLevel::kToken;
  bool ratio_enabled = true;  // keeps tokens only if ratio_low <= p_trainer / p_sampler <= ratio_high
  double ratio_low = 0.8;
  double ratio_high = 1.2;
  bool diff_enabled = false;  // keeps tokens only if diff_low <= p_trainer - p_sampler <= diff_high
  double diff_low = -0.2;
  double diff_high = 0.2;

  void fields(Keys& v);
};

/// The section train_infer_correction (correction.h).
struct TrainInferCorrection {
  ImportanceWeights is_weight;
  std::vector<CorrectionFilter> filters;

  /// Returns true if the weights or any filter is enabled.
  bool is_enabled() const {
    for (const CorrectionFilter& filter : filters)
      if (filter.enabled) return true;
    return is_weight.enabled;
  }

  void fields(Keys& v);
};

/// All keys for advantages.
struct ExperienceConfig {
  Chosen<AdvantageEstimator> adv_estimator = "gae";
  double gamma = 1;                          // discount of later rewards
  double lambd = 0.95;                       // lambda of GAE
  std::optional<double> lambd_critic{};      // lambda of the critic's targets; null: lambd
  std::optional<double> lambd_alpha{};       // lambda of the advantages by response length (gae()); null: lambd
  double reward_baseline = 0;                // subtracted from every reward, unless norm_mean_type subtracts a mean
  std::optional<double> reward_clip{};       // bound of |reward|, before and after the KL is subtracted; null: none
  std::optional<double> advantage_clip{};    // bound of |advantage|; null: none
  std::optional<NormType> norm_mean_type{};  // mean subtracted from the rewards; null: the estimator's
  std::optional<NormType> norm_std_type{};   // deviation that divides the rewards; null: the estimator's
  double step_reward_gamma = 0.95;           // gigpo, step_reinforce: discount of later turns' rewards
  double episode_reward_weight = 1;          // gigpo: weight of the trajectory's reward
  double step_reward_weight = 1;             // gigpo: weight of the turn's return
  EpisodeStatistics episode_statistics = EpisodeStatistics::kTurns;
  bool statistics_per_domain = true;      // normalises rewards and controls the KL domain by domain
  bool whiten_rewards = false;            // token rewards get mean 0 and variance 1
  bool whiten_advantages = false;         // advantages get mean 0 and variance 1
  bool add_token_level_kl = false;        // subtracts kl_coef x KL(old, reference) from each token's reward
  KlPenalty kl_penalty = KlPenalty::kKl;  // estimator of that KL, and of the KL to a teacher
  double init_kl_coef = 0.2;              // kl_coef at the first step
  std::optional<double> target_kl{};      // adapts kl_coef towards this KL; null: kl_coef is constant
  int64_t kl_horizon = 10000;             // sequences over which the adaptive kl_coef reacts
  bool max_len_mask = false;              // truncated responses carry no loss
  bool difficulty_mask = false;           // only groups with a mean score between the thresholds carry loss
  double difficulty_low_threshold = 0;    // exclusive
  double difficulty_high_threshold = 1;   // exclusive
  bool error_max_len_clip = false;        // wrong responses of error_max_len_threshold tokens or more carry no loss
  std::optional<int64_t> error_max_len_threshold{};
  bool bootstrap_truncated = false;  // GAE of a truncated response ends in the critic's value, not in 0
  TrainInferCorrection train_infer_correction{};
  bool is_pure_opd = false;  // on-policy distillation alone: advantages are -KL(policy, teacher) per token
  bool use_opd = false;      // on-policy distillation with rewards: that KL is subtracted from the advantages

  /// Returns true for on-policy distillation, with or without rewards.
  bool distils() const { return is_pure_opd || use_opd; }
  /// Returns norm_mean_type and norm_std_type, or the estimator's defaults where they are null.
  Normalisation normalisation() const {
    const auto& [mean, deviation] = adv_estimator->normalisation;
    return {norm_mean_type ? norm_mean_type : mean, norm_std_type ? norm_std_type : deviation};
  }
  /// Returns true if advantages are whitened, by the key or by the estimator.
  bool whitens() const { return whiten_advantages || adv_estimator->whitens; }
  /// Returns true if token rewards include a KL. With an initial coefficient of 0 they never do, because the adaptive
  /// rule only multiplies the coefficient.
  bool penalises_kl() const { return add_token_level_kl && init_kl_coef > 0; }

  void fields(Keys& v);

 private:
  void kl_and_mask_fields(Keys& v);
};

}  // namespace roll
