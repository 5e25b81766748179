// ROLL's keys of training in environments: the environments, the number of levels, and the batch sizes in trajectories.
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
  std::vector<std::string> tags;
  int64_t num_env_groups = 128;
  int64_t group_size = 1;
  std::vector<int64_t> num_groups_partition;
  std::optional<int64_t> num_levels;
  std::optional<double> format_penalty;
  GeneratingArgs generating_args;

  void fields(Keys& v);
};

/// ROLL's reward_normalization keys, another spelling of norm_mean_type and norm_std_type.
enum class RewardGrouping { kGroup, kBatch, kTags };
constexpr auto enum_names(RewardGrouping) {
  return std::to_array<Named<RewardGrouping>>(
      {{RewardGrouping::kGroup, "traj_group_id"}, {RewardGrouping::kBatch, "batch"}, {RewardGrouping::kTags, "tags"}});
}
enum class RewardMethod { kIdentity, kMean, kMeanStd };
constexpr auto enum_names(RewardMethod) {
  return std::to_array<Named<RewardMethod>>(
      {{RewardMethod::kIdentity, "identity"}, {RewardMethod::kMean, "mean"}, {RewardMethod::kMeanStd, "mean_std"}});
}
struct RewardNormalization {
  RewardGrouping grouping = RewardGrouping::kGroup;
  RewardMethod method = RewardMethod::kIdentity;
  std::optional<NormType> norm_mean_type, norm_std_type;

  void fields(Keys& v);
};

struct AgenticConfig {
  std::map<std::string, EnvironmentConfig> custom_envs;
  EnvManagerConfig train_env_manager, val_env_manager;
  int64_t val_batch_size = -1;
  RewardNormalization reward_normalization;

  bool is_used() const { return !train_env_manager.tags.empty(); }
  bool validates() const { return is_used() && !val_env_manager.tags.empty(); }

  void fields(Keys& v);
};

}  // namespace roll
