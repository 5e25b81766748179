// Returns, for each trait of an RL algorithm (such as its advantages or its KL term), the configuration keys that
// decide it, as text. describe_algorithm() prints them where a configuration differs from the published algorithm.
#pragma once

#include <optional>
#include <string>

#include "loss/aggregate.h"
#include "settings/config.h"

namespace roll {

/// A configuration, with the predicates that describe_algorithm() tests.
struct AlgorithmSetting {
  const Config& config;  // completed by complete(); must outlive this
  bool has_one_update;   // a step makes one update, so the updated policy is the one that sampled

  const ExperienceConfig& experience() const { return config.experience; }
  const LossConfig& loss() const { return config.loss; }
  /// Returns how the policy loss averages token losses.
  AggMode mode() const { return loss_modes(loss()).policy; }
  /// True if adv_estimator is `estimator`, such as "grpo".
  bool is(const char* estimator) const { return experience().adv_estimator == Chosen<AdvantageEstimator>(estimator); }
  /// True if rewards are normalised by the mean and the deviation of these groups; nullopt: no mean is subtracted, or
  /// nothing is divided by a deviation.
  bool normalises(std::optional<NormType> mean, std::optional<NormType> deviation) const {
    const Normalisation found = experience().normalisation();
    return found.mean == mean && found.deviation == deviation;
  }
  /// True if the policy loss is the pg_variant `variant`, such as "ppo".
  bool minimises(const char* variant) const {
    return config.actor_train.policy.pg_variant == Chosen<PolicyLossKind>(variant);
  }
  /// True if importance_sampling is `ratio`.
  bool uses_ratio(ImportanceSampling ratio) const { return loss().importance_sampling == ratio; }
  /// True for the estimators reinforce and grpo, whose advantages are (normalised) rewards-to-go.
  bool sums_rewards() const { return is("reinforce") || is("grpo"); }
};

// Each function returns one trait's keys with their values, such as "adv_estimator = grpo, norm_mean_type = group".
std::string advantage_keys(const AlgorithmSetting& s);  // estimator and normalisation
std::string policy_keys(const AlgorithmSetting& s);     // form of the policy loss
std::string mode_keys(const AlgorithmSetting& s);       // average over tokens
std::string kl_keys(const AlgorithmSetting& s);         // use of the KL to the reference
std::string estimate_keys(const AlgorithmSetting& s);   // KL estimator of the loss
std::string clip_keys(const AlgorithmSetting& s);       // clip range of the ratio
std::string overlong_keys(const AlgorithmSetting& s);   // length penalty of each domain
std::string episode_keys(const AlgorithmSetting& s);    // episode_statistics
std::string filter_keys(const AlgorithmSetting& s);     // groups that each domain drops
std::string lambda_keys(const AlgorithmSetting& s);     // lambda of GAE
std::string positive_keys(const AlgorithmSetting& s);   // likelihood term of right responses
std::string warmup_keys(const AlgorithmSetting& s);     // first steps, which train only the critic
std::string update_keys(const AlgorithmSetting& s);     // a sentence: one or several updates per step
std::string entropy_keys(const AlgorithmSetting& s);
std::string baseline_keys(const AlgorithmSetting& s);  // reward_baseline
std::string cispo_keys(const AlgorithmSetting& s);     // lower clip of CISPO
std::string no_keys(const AlgorithmSetting& s);        // "", for a trait without keys

}  // namespace roll
