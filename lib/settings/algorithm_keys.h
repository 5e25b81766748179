// Formats the keys that decide an algorithm's traits, for the differences that describe_algorithm() reports.
#pragma once

#include <optional>
#include <string>

#include "loss/aggregate.h"
#include "settings/config.h"

namespace roll {

struct AlgorithmSetting {
  const Config& config;
  bool has_one_update;  // one update per step, made at the policy that sampled

  const ExperienceConfig& experience() const { return config.experience; }
  const LossConfig& loss() const { return config.loss; }
  AggMode mode() const { return loss_modes(loss()).policy; }
  bool is(const char* estimator) const { return experience().adv_estimator == Chosen<AdvantageEstimator>(estimator); }
  bool normalises(std::optional<NormType> mean, std::optional<NormType> deviation) const {
    const Normalisation found = experience().normalisation();
    return found.mean == mean && found.deviation == deviation;
  }
  bool minimises(const char* variant) const {
    return config.actor_train.policy.pg_variant == Chosen<PolicyLossKind>(variant);
  }
  bool samples(ImportanceSampling ratio) const { return loss().importance_sampling == ratio; }
  /// True if advantages are rewards-to-go, normalised over a group as in GRPO and its successors.
  bool sums_rewards() const { return is("reinforce") || is("grpo"); }
};

// Each function returns a trait's keys with their values, "adv_estimator = grpo, ...".
std::string advantage_keys(const AlgorithmSetting& s);
std::string policy_keys(const AlgorithmSetting& s);
std::string mode_keys(const AlgorithmSetting& s);
std::string kl_keys(const AlgorithmSetting& s);
std::string estimate_keys(const AlgorithmSetting& s);
std::string clip_keys(const AlgorithmSetting& s);
std::string overlong_keys(const AlgorithmSetting& s);
std::string episode_keys(const AlgorithmSetting& s);
std::string filter_keys(const AlgorithmSetting& s);
std::string lambda_keys(const AlgorithmSetting& s);
std::string positive_keys(const AlgorithmSetting& s);
std::string warmup_keys(const AlgorithmSetting& s);
std::string update_keys(const AlgorithmSetting& s);
std::string entropy_keys(const AlgorithmSetting& s);
std::string baseline_keys(const AlgorithmSetting& s);
std::string cispo_keys(const AlgorithmSetting& s);
std::string no_keys(const AlgorithmSetting& s);

}  // namespace roll
