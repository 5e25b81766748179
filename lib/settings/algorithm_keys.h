// Returns, for each trait of an RL algorithm (such as its advantages or its KL term), the configuration keys that
// decide it, with their values, as text. describe_algorithm() prints them where a configuration differs from the
// published algorithm.
#pragma once

#include <optional>
#include <string>

#include "loss/aggregate.h"
#include "settings/config.h"

namespace roll {

/// A configuration, with the predicates that describe_algorithm() tests.
struct AlgorithmSetting {
  const Config& config;  // completed by complete() (complete.h); must outlive this object
  bool has_one_update;   // true: a step makes one update of the actor, so training is on-policy

  const ExperienceConfig& experience() const { return config.experience; }
  const LossConfig& loss() const { return config.loss; }
  /// Returns how the policy loss averages token losses.
  AggMode mode() const { return loss_modes(loss()).policy; }
  /// True if adv_estimator is `estimator`, such as "grpo".
  bool is(const char* estimator) const { return experience().adv_estimator == Chosen<AdvantageEstimator>(estimator); }
  /// True if rewards are normalised in just this way. mean: the responses whose mean is subtracted; nullopt: no mean is
  /// subtracted. deviation: the responses whose deviation divides; nullopt: nothing is divided.
  bool normalises(std::optional<NormType> mean, std::optional<NormType> deviation) const {
    const Normalisation found = experience().normalisation();
    return found.mean == mean && found.deviation == deviation;
  }
  /// True if the policy loss that is minimised is `variant`, a value of pg_variant such as "ppo".
  bool minimises(const char* variant) const {
    return config.actor_train.policy.pg_variant == Chosen<PolicyLossKind>(variant);
  }
  /// True if importance_sampling is `ratio`.
  bool uses_ratio(ImportanceSampling ratio) const { return loss().importance_sampling == ratio; }
  /// True for the estimators reinforce and grpo, whose advantages are sums of (normalised) token rewards.
  bool sums_rewards() const { return is("reinforce") || is("grpo"); }
};

// Each function returns one trait's keys with their values, such as "adv_estimator = grpo, norm_mean_type = group".
// clip_keys() and update_keys() return a sentence without keys instead.
std::string advantage_keys(const AlgorithmSetting& s);  // estimator and normalisation
std::string policy_keys(const AlgorithmSetting& s);     // form of the policy loss
std::string mode_keys(const AlgorithmSetting& s);       // loss_agg_mode: average of the policy loss over tokens
std::string kl_keys(const AlgorithmSetting& s);         // use of the KL to the reference
std::string estimate_keys(const AlgorithmSetting& s);   // estimator of the KL in the loss
std::string clip_keys(const AlgorithmSetting& s);       // clip range of the ratio
std::string overlong_keys(const AlgorithmSetting& s);   // DAPO's penalty of long responses, by domain
std::string episode_keys(const AlgorithmSetting& s);    // weight of a trajectory in GiGPO's group statistics
std::string filter_keys(const AlgorithmSetting& s);     // filter that drops groups (dynamic sampling), by domain
std::string lambda_keys(const AlgorithmSetting& s);     // lambda of GAE
std::string positive_keys(const AlgorithmSetting& s);   // likelihood term of responses with a score above 0
std::string warmup_keys(const AlgorithmSetting& s);     // number of first steps that train only the critic
std::string update_keys(const AlgorithmSetting& s);     // one or several updates per step
std::string entropy_keys(const AlgorithmSetting& s);    // coefficient of the entropy bonus
std::string baseline_keys(const AlgorithmSetting& s);   // constant subtracted from rewards
std::string cispo_keys(const AlgorithmSetting& s);      // lower clip of CISPO
std::string no_keys(const AlgorithmSetting& s);         // "", for a trait without keys

}  // namespace roll
