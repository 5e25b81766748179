#include "experience/rewards.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"

namespace roll {
namespace {

constexpr double kDeviationEps = 1e-6;

struct NormTypes {
  std::optional<NormType> mean, deviation;
};

NormTypes norm_types(const ExperienceConfig& config) {
  if (config.adv_estimator == AdvEstimator::kGrpo) return {NormType::kGroup, NormType::kGroup};
  return {config.norm_mean_type, config.norm_std_type};
}

/// Moments for each sequence of this rank, under one norm type.
class NormStatistics {
 public:
  NormStatistics(const std::vector<double>& rewards, const Experience& experience, int64_t num_groups,
                 RunningMoments& running, const NormTypes& types, const AllReduce& all_reduce)
      : group_index_(experience.group_index) {
    const auto used = [&](NormType type) { return types.mean == type || types.deviation == type; };
    if (used(NormType::kGroup)) groups_ = group_moments(rewards, group_index_, num_groups, all_reduce);
    if (!used(NormType::kBatch) && !used(NormType::kRunning)) return;
    const at::Tensor values = at::tensor(rewards, at::kDouble);
    batch_ = global_moments(values, at::ones_like(values), all_reduce);
    if (used(NormType::kRunning)) running.add(batch_);
    running_ = running.moments();
  }

  const Moments& of(size_t sequence, NormType type) const {
    switch (type) {
      case NormType::kGroup:
        return groups_[group_index_[sequence]];
      case NormType::kBatch:
        return batch_;
      case NormType::kRunning:
        return running_;
    }
    throw Bug("a normalisation without its statistics");
  }

  double deviation(size_t sequence, NormType type) const {
    const Moments& moments = of(sequence, type);
    if (moments.count < 2)
      throw user_error("norm_std_type = {}: a deviation needs at least two responses, and there is one; {}",
                       name_of(type),
                       type == NormType::kGroup ? "set num_return_sequences_in_group > 1" : "raise rollout_batch_size");
    return moments.deviation();
  }

 private:
  const std::vector<int64_t>& group_index_;
  std::vector<Moments> groups_;
  Moments batch_, running_;
};

/// Sums by group over all ranks. columns: values per sequence.
at::Tensor group_sums(const std::vector<std::vector<double>>& columns, const std::vector<int64_t>& group_index,
                      int64_t num_groups, const AllReduce& all_reduce) {
  at::Tensor sums = at::zeros({static_cast<int64_t>(columns.size()), num_groups}, at::kDouble);
  double* sum = sums.mutable_data_ptr<double>();
  for (size_t c = 0; c < columns.size(); ++c) {
    for (size_t b = 0; b < group_index.size(); ++b) {
      ROLL_CHECK(group_index[b] >= 0 && group_index[b] < num_groups, "a group index numbers a prompt of the step");
      sum[static_cast<int64_t>(c) * num_groups + group_index[b]] += columns[c][b];
    }
  }
  if (all_reduce) all_reduce(sums);
  return sums;
}

bool is_long_error(const Experience& experience, const ExperienceConfig& config, size_t b) {
  if (!config.error_max_len_clip) return false;
  if (!config.error_max_len_threshold)
    throw UserError("error_max_len_clip = true: needs error_max_len_threshold; set it to a number of tokens");
  return experience.scores[b] <= 0 && experience.response_lengths[b] >= *config.error_max_len_threshold;
}

bool has_useful_difficulty(const Moments& group, const ExperienceConfig& config) {
  return group.mean > config.difficulty_low_threshold && group.mean < config.difficulty_high_threshold;
}

}  // namespace

std::vector<Moments> group_moments(const std::vector<double>& values, const std::vector<int64_t>& group_index,
                                   int64_t num_groups, const AllReduce& all_reduce) {
  const std::vector<double> ones(values.size(), 1.0);
  const at::Tensor first = group_sums({ones, values}, group_index, num_groups, all_reduce);
  std::vector<Moments> groups(num_groups);
  for (int64_t g = 0; g < num_groups; ++g) {
    groups[g].count = first[0][g].item<double>();
    if (groups[g].count > 0) groups[g].mean = first[1][g].item<double>() / groups[g].count;
  }
  std::vector<double> squares(values.size());
  for (size_t b = 0; b < values.size(); ++b) {
    const double distance = values[b] - groups[group_index[b]].mean;
    squares[b] = distance * distance;
  }
  const at::Tensor second = group_sums({squares}, group_index, num_groups, all_reduce);
  for (int64_t g = 0; g < num_groups; ++g) groups[g].squares = second[0][g].item<double>();
  return groups;
}

std::vector<char> sample_mask(const Experience& experience, const ExperienceConfig& config, int64_t num_groups,
                              const AllReduce& all_reduce) {
  std::vector<char> mask(experience.scores.size(), 1);
  std::vector<Moments> groups;
  if (config.difficulty_mask) groups = group_moments(experience.scores, experience.group_index, num_groups, all_reduce);
  for (size_t b = 0; b < mask.size(); ++b) {
    if (config.max_len_mask && experience.truncated[b]) mask[b] = 0;
    if (config.difficulty_mask && !has_useful_difficulty(groups[experience.group_index[b]], config)) mask[b] = 0;
    if (is_long_error(experience, config, b)) mask[b] = 0;
  }
  return mask;
}

std::vector<double> sequence_rewards(const Experience& experience, const ExperienceConfig& config, int64_t num_groups,
                                     RunningMoments& running, const AllReduce& all_reduce) {
  std::vector<double> rewards = experience.rewards;
  if (config.reward_clip)
    for (double& reward : rewards) reward = std::clamp(reward, -*config.reward_clip, *config.reward_clip);
  const NormTypes types = norm_types(config);
  if (!types.mean && !types.deviation) return rewards;
  const NormStatistics statistics(rewards, experience, num_groups, running, types, all_reduce);
  for (size_t b = 0; b < rewards.size(); ++b) {
    if (types.mean) rewards[b] -= statistics.of(b, *types.mean).mean;
    if (types.deviation) rewards[b] /= statistics.deviation(b, *types.deviation) + kDeviationEps;
  }
  return rewards;
}

at::Tensor make_token_rewards(const Experience& experience, const std::vector<double>& rewards, const at::Tensor& kl,
                              double kl_coefficient) {
  ROLL_CHECK_EQ(static_cast<int64_t>(rewards.size()), experience.num_sequences(), "every sequence has a reward");
  at::Tensor token_rewards = at::zeros({experience.tokens.num_tokens()}, at::kDouble);
  double* reward = token_rewards.mutable_data_ptr<double>();
  for (size_t b = 0; b < rewards.size(); ++b) {
    const int64_t last_token = experience.tokens.cu_seqlens[b + 1] - 1;
    if (experience.response_lengths[b] > 0) reward[last_token - 1] = rewards[b];
  }
  if (kl.defined()) {
    const at::Tensor masked =
        at::where(experience.response_mask().ne(0), kl.to(at::kDouble), at::zeros({}, at::kDouble));
    token_rewards = token_rewards - masked * kl_coefficient;
  }
  return token_rewards.to(at::kFloat);
}

}  // namespace roll
