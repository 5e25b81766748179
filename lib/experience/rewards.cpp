#include "experience/rewards.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "loss/terms.h"

namespace roll {
namespace {

constexpr double kDeviationEps = 1e-6;

/// [B] float64.
at::Tensor judged_mask(const ResponseFacts& responses) {
  return at::tensor(std::vector<double>(responses.judged.begin(), responses.judged.end()), at::kDouble);
}

/// Moments for each sequence, under one norm type.
class NormStatistics {
 public:
  NormStatistics(const StepFacts& step, int64_t num_groups, RunningMoments& running, const Normalisation& types)
      : group_index_(step.group_index), are_all_judged_(std::ranges::find(step.judged, char{0}) == step.judged.end()) {
    const auto used = [&](NormType type) { return types.mean == type || types.deviation == type; };
    if (used(NormType::kGroup)) groups_ = group_moments(step.rewards, step, num_groups);
    if (!used(NormType::kBatch) && !used(NormType::kRunning)) return;
    const at::Tensor values = at::tensor(step.rewards, at::kDouble);
    batch_ = masked_moments(values, judged_mask(step));
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
    if (moments.count < 2 && !are_all_judged_) return 0;
    if (moments.count < 2)
      throw user_error("norm_std_type = {}: a deviation needs at least two responses, and there is one; {}",
                       name_of(type),
                       type == NormType::kGroup ? "set num_return_sequences_in_group > 1"
                                                : "raise rollout_batch_size, or set statistics_per_domain to false");
    return moments.deviation();
  }

 private:
  const std::vector<int64_t>& group_index_;
  bool are_all_judged_;
  std::vector<Moments> groups_;
  Moments batch_, running_;
};

bool is_long_error(const StepFacts& step, const ExperienceConfig& config, size_t b) {
  if (!config.error_max_len_clip) return false;
  if (!config.error_max_len_threshold)
    throw UserError("error_max_len_clip = true: needs error_max_len_threshold; set it to a number of tokens");
  return step.scores[b] <= 0 && num_model_tokens(step, static_cast<int64_t>(b)) >= *config.error_max_len_threshold;
}

bool has_useful_difficulty(const Moments& group, const ExperienceConfig& config) {
  return group.mean > config.difficulty_low_threshold && group.mean < config.difficulty_high_threshold;
}

}  // namespace

std::vector<Moments> group_moments(const std::vector<double>& values, const StepFacts& step, int64_t num_groups) {
  std::vector<Moments> groups(num_groups);
  const auto& group_index = step.group_index;
  for (size_t b = 0; b < values.size(); ++b) {
    ROLL_CHECK(group_index[b] >= 0 && group_index[b] < num_groups, "a group index numbers a prompt of the step");
    if (!step.judged[b]) continue;
    groups[group_index[b]].count += 1;
    groups[group_index[b]].mean += values[b];
  }
  for (Moments& group : groups)
    if (group.count > 0) group.mean /= group.count;
  for (size_t b = 0; b < values.size(); ++b) {
    if (!step.judged[b]) continue;
    const double distance = values[b] - groups[group_index[b]].mean;
    groups[group_index[b]].squares += distance * distance;
  }
  return groups;
}

std::vector<char> groups_that_differ(const StepFacts& step, int64_t num_groups) {
  std::vector<std::optional<double>> first(num_groups);
  std::vector<char> differ(num_groups, 0);
  for (size_t b = 0; b < step.rewards.size(); ++b) {
    const int64_t group = step.group_index[b];
    ROLL_CHECK(group >= 0 && group < num_groups, "a group index numbers a prompt of the step");
    if (!step.judged[b]) continue;
    if (!first[group]) first[group] = step.rewards[b];
    if (*first[group] != step.rewards[b]) differ[group] = 1;
  }
  return differ;
}

std::vector<char> sample_mask(const StepFacts& step, const ExperienceConfig& config, int64_t num_groups) {
  std::vector<char> mask = step.judged;
  std::vector<Moments> groups;
  if (config.difficulty_mask) groups = group_moments(step.scores, step, num_groups);
  for (size_t b = 0; b < mask.size(); ++b) {
    if (config.max_len_mask && step.truncated[b]) mask[b] = 0;
    if (config.difficulty_mask && !has_useful_difficulty(groups[step.group_index[b]], config)) mask[b] = 0;
    if (is_long_error(step, config, b)) mask[b] = 0;
  }
  return mask;
}

std::vector<double> decoupled_rewards(const StepFacts& step, int64_t num_groups, bool over_batch) {
  ROLL_CHECK_EQ(step.parts.size(), step.rewards.size(), "every reward has its parts");
  size_t num_parts = 0;
  for (const auto& parts : step.parts) num_parts = std::max(num_parts, parts.size());
  std::vector<double> sums(step.rewards.size());
  for (size_t k = 0; k < num_parts; ++k) {
    std::vector<double> values(sums.size()), weights(num_groups);
    for (size_t b = 0; b < sums.size(); ++b) {
      if (k >= step.parts[b].size()) continue;
      values[b] = step.parts[b][k].reward;
      weights[step.group_index[b]] = step.parts[b][k].weight;
    }
    const auto groups = group_moments(values, step, num_groups);
    for (size_t b = 0; b < sums.size(); ++b) {
      const Moments& group = groups[step.group_index[b]];
      if (step.judged[b])
        sums[b] += weights[step.group_index[b]] * (values[b] - group.mean) / (group.deviation() + kDeviationEps);
    }
  }
  if (!over_batch) return sums;
  const Moments batch = masked_moments(at::tensor(sums, at::kDouble), judged_mask(step));
  for (size_t b = 0; b < sums.size(); ++b)
    sums[b] = step.judged[b] ? (sums[b] - batch.mean) / (batch.deviation() + kDeviationEps) : 0;
  return sums;
}

std::vector<double> normalised_rewards(const StepFacts& step, const ExperienceConfig& config, int64_t num_groups,
                                       RunningMoments& running) {
  const AdvantageEstimator& estimator = *config.adv_estimator;
  if (estimator.separates_rewards) return decoupled_rewards(step, num_groups, /*over_batch=*/!estimator.whitens);
  std::vector<double> rewards = step.rewards;
  const Normalisation types = config.normalisation();
  for (size_t b = 0; b < rewards.size(); ++b)
    if (step.judged[b]) rewards[b] -= config.reward_baseline;
  if (config.adv_estimator->samples_baseline) {
    ROLL_CHECK_EQ(step.baselines.size(), rewards.size(), "the estimator takes off the reward of a greedy response");
    for (size_t b = 0; b < rewards.size(); ++b) rewards[b] -= step.baselines[b];
  }
  if (!types.mean && !types.deviation) return rewards;
  const NormStatistics statistics(step, num_groups, running, types);
  for (size_t b = 0; b < rewards.size(); ++b) {
    if (!step.judged[b]) {
      rewards[b] = 0;
      continue;
    }
    if (types.mean) rewards[b] -= statistics.of(b, *types.mean).mean;
    if (types.deviation) rewards[b] /= statistics.deviation(b, *types.deviation) + kDeviationEps;
  }
  return rewards;
}

at::Tensor old_to_ref_kl(const Experience& experience, const ExperienceConfig& config) {
  if (!experience.ref_log_probs.defined() || !experience.old_log_probs.defined()) {
    ROLL_CHECK(!config.penalises_kl(), "the KL of the token rewards needs old and reference log-probs");
    return {};
  }
  const at::Tensor d = experience.old_log_probs - experience.ref_log_probs;
  return kl_term(at::where(experience.response_mask().ne(0), d, at::zeros({}, at::kFloat)), config.kl_penalty);
}

Moments sequence_kl(const Experience& experience, const at::Tensor& kl, Communicator& ranks) {
  std::vector<double> counts;
  for (int64_t b = 0; b < experience.num_sequences(); ++b)
    counts.push_back(static_cast<double>(num_model_tokens(experience, b)));
  const at::Tensor lengths = at::tensor(counts, at::kDouble);
  return masked_moments(response_sums(experience, kl) / lengths.clamp_min(1), lengths * judged_mask(experience),
                        &ranks);
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
