// ROLL's keys of training in environments. A trajectory is one play of a level (one start of an environment); the
// trajectories of one level form a group. fields() declares the keys, with a help text each (config/keys.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "environment/config.h"
#include "experience/config.h"
#include "rollout/config.h"

namespace roll {

/// Environments that training or the validation plays (train_env_manager, val_env_manager).
struct EnvManagerConfig {
  std::vector<std::string> tags;              // environments to play: keys of AgenticConfig::custom_envs
  int64_t num_env_groups = 128;               // groups of all tags together
  int64_t group_size = 1;                     // trajectories per level
  std::vector<int64_t> num_groups_partition;  // groups of each tag, in the order of `tags`; empty: equally many
  std::optional<int64_t> num_levels;          // different levels, all tags together; unset: training_levels() chooses
  std::optional<double> format_penalty;       // reward of a turn without an action, if the environment sets none
  GeneratingArgs generating_args;             // sampling of a turn

  void fields(Keys& v);
};

/// Trajectories over which rewards are normalised: a group, the batch, or the batch's trajectories with the same tag.
enum class RewardGrouping { kGroup, kBatch, kTags };
constexpr auto enum_names(RewardGrouping) {
  return std::to_array<Named<RewardGrouping>>(
      {{RewardGrouping::kGroup, "traj_group_id"}, {RewardGrouping::kBatch, "batch"}, {RewardGrouping::kTags, "tags"}});
}
/// Normalisation of rewards. kIdentity: none; kMean: subtracts the mean; kMeanStd: also divides by the standard
/// deviation.
enum class RewardMethod { kIdentity, kMean, kMeanStd };
constexpr auto enum_names(RewardMethod) {
  return std::to_array<Named<RewardMethod>>(
      {{RewardMethod::kIdentity, "identity"}, {RewardMethod::kMean, "mean"}, {RewardMethod::kMeanStd, "mean_std"}});
}
/// ROLL's reward_normalization keys, another spelling of the keys norm_mean_type and norm_std_type of ExperienceConfig.
/// complete_agentic() fills those from these.
struct RewardNormalization {
  RewardGrouping grouping = RewardGrouping::kGroup;
  RewardMethod method = RewardMethod::kIdentity;
  std::optional<NormType> norm_mean_type;  // groups for the mean, read with kIdentity only; unset: no subtraction
  std::optional<NormType> norm_std_type;   // groups for the deviation, read unless kMeanStd; unset: no division

  void fields(Keys& v);
};

struct AgenticConfig {
  std::map<std::string, EnvironmentConfig> custom_envs;  // by tag
  EnvManagerConfig train_env_manager, val_env_manager;
  int64_t val_batch_size = -1;  // trajectories of a validation; -1: num_env_groups x group_size of val_env_manager
  RewardNormalization reward_normalization;

  /// True if training plays environments.
  bool is_used() const { return !train_env_manager.tags.empty(); }
  /// True if the validation plays environments, too.
  bool validates() const { return is_used() && !val_env_manager.tags.empty(); }

  void fields(Keys& v);
};

}  // namespace roll
