#include "experience/rewards.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "loss/terms.h"

namespace roll {
namespace {

constexpr double kDeviationEps = 1e-6;

/// Moments for each sequence under a norm type.
class NormStatistics {
 public:
  NormStatistics(const StepFacts& step, int64_t num_groups, RunningMoments& running, const Normalisation& types)
      : step_(step), are_all_judged_(std::ranges::all_of(step.responses, &ResponseFacts::is_judged)) {
    const auto used = [&](NormType type) { return types.mean == type || types.deviation == type; };
    const std::vector<double> rewards = column(step.responses, &ResponseFacts::reward);
    if (used(NormType::kGroup)) groups_ = group_moments(rewards, step, num_groups);
    if (!used(NormType::kBatch) && !used(NormType::kRunning)) return;
    batch_ = masked_moments(at::tensor(rewards, at::kDouble), judged_mask(step.responses));
    if (used(NormType::kRunning)) running.add(batch_);
    running_ = running.moments();
  }

  const Moments& find_moments(size_t sequence, NormType type) const {
    switch (type) {
      case NormType::kGroup:
        return groups_[step_.responses[sequence].group];
      case NormType::kBatch:
        return batch_;
      case NormType::kRunning:
        return running_;
    }
    throw Bug("a normalisation without its statistics");
  }

  double deviation(size_t sequence, NormType type) const {
    const Moments& moments = find_moments(sequence, type);
    if (moments.count < 2 && !are_all_judged_) return 0;
    if (moments.count < 2)
      throw user_error("norm_std_type = {}: a deviation needs at least two responses, and there is one; {}",
                       enum_name(type),
                       type == NormType::kGroup ? "set num_return_sequences_in_group > 1"
                                                : "raise rollout_batch_size, or set statistics_per_domain to false");
    return moments.deviation();
  }

 private:
  const StepFacts& step_;
  bool are_all_judged_;
  std::vector<Moments> groups_;
  Moments batch_, running_;
};

bool is_long_error(const ResponseFacts& response, const ExperienceConfig& config) {
  if (!config.error_max_len_clip) return false;
  if (!config.error_max_len_threshold)
    throw UserError("error_max_len_clip = true: needs error_max_len_threshold; set it to a number of tokens");
  return response.score <= 0 && response.num_model_tokens() >= *config.error_max_len_threshold;
}

bool has_useful_difficulty(const Moments& group, const ExperienceConfig& config) {
  return group.mean > config.difficulty_low_threshold && group.mean < config.difficulty_high_threshold;
}

}  // namespace

at::Tensor judged_mask(const std::vector<ResponseFacts>& responses) {
  std::vector<double> mask;
  for (const ResponseFacts& response : responses) mask.push_back(response.is_judged);
  return at::tensor(mask, at::kDouble);
}

std::vector<Moments> group_moments(const std::vector<double>& values, const StepFacts& step, int64_t num_groups) {
  std::vector<Moments> groups(num_groups);
  for (size_t b = 0; b < values.size(); ++b) {
    const ResponseFacts& response = step.responses[b];
    ROLL_CHECK(response.group >= 0 && response.group < num_groups, "a group index is that of a prompt of the step");
    if (!response.is_judged) continue;
    groups[response.group].count += 1;
    groups[response.group].mean += values[b];
  }
  for (Moments& group : groups)
    if (group.count > 0) group.mean /= group.count;
  for (size_t b = 0; b < values.size(); ++b) {
    if (!step.responses[b].is_judged) continue;
    Moments& group = groups[step.responses[b].group];
    group.squares += (values[b] - group.mean) * (values[b] - group.mean);
  }
  return groups;
}

std::vector<char> groups_that_differ(const StepFacts& step, int64_t num_groups) {
  std::vector<std::optional<double>> first_reward(num_groups);
  std::vector<char> differ(num_groups, 0);
  for (const ResponseFacts& response : step.responses) {
    const int64_t group = response.group;
    ROLL_CHECK(group >= 0 && group < num_groups, "a group index is that of a prompt of the step");
    if (!response.is_judged) continue;
    if (!first_reward[group]) first_reward[group] = response.reward;
    if (*first_reward[group] != response.reward) differ[group] = 1;
  }
  return differ;
}

std::vector<char> sample_mask(const StepFacts& step, const ExperienceConfig& config, int64_t num_groups) {
  std::vector<char> mask;
  std::vector<Moments> groups;
  if (config.difficulty_mask) groups = group_moments(column(step.responses, &ResponseFacts::score), step, num_groups);
  for (const ResponseFacts& response : step.responses) {
    const bool is_cut = config.max_len_mask && response.is_truncated;
    const bool is_useless = config.difficulty_mask && !has_useful_difficulty(groups[response.group], config);
    mask.push_back(response.is_judged && !is_cut && !is_useless && !is_long_error(response, config));
  }
  return mask;
}

std::vector<double> decoupled_rewards(const StepFacts& step, int64_t num_groups, bool over_batch) {
  size_t num_parts = 0;
  for (const ResponseFacts& response : step.responses) {
    ROLL_CHECK(!response.parts.empty() || !response.is_judged || response.reward == 0, "every reward has its parts");
    num_parts = std::max(num_parts, response.parts.size());
  }
  std::vector<double> sums(step.responses.size());
  for (size_t k = 0; k < num_parts; ++k) {
    std::vector<double> values(sums.size()), weights(num_groups);
    for (size_t b = 0; b < sums.size(); ++b) {
      const ResponseFacts& response = step.responses[b];
      if (k >= response.parts.size()) continue;
      values[b] = response.parts[k].reward;
      weights[response.group] = response.parts[k].weight;
    }
    const auto groups = group_moments(values, step, num_groups);
    for (size_t b = 0; b < sums.size(); ++b) {
      const int64_t group_index = step.responses[b].group;
      const Moments& group = groups[group_index];
      if (step.responses[b].is_judged)
        sums[b] += weights[group_index] * (values[b] - group.mean) / (group.deviation() + kDeviationEps);
    }
  }
  if (!over_batch) return sums;
  const Moments batch = masked_moments(at::tensor(sums, at::kDouble), judged_mask(step.responses));
  for (size_t b = 0; b < sums.size(); ++b)
    sums[b] = step.responses[b].is_judged ? (sums[b] - batch.mean) / (batch.deviation() + kDeviationEps) : 0;
  return sums;
}

std::vector<double> normalised_rewards(const StepFacts& step, const ExperienceConfig& config, int64_t num_groups,
                                       RunningMoments& running) {
  const AdvantageEstimator& estimator = *config.adv_estimator;
  if (estimator.separates_rewards) return decoupled_rewards(step, num_groups, /*over_batch=*/!estimator.whitens);
  std::vector<double> rewards = column(step.responses, &ResponseFacts::reward);
  const Normalisation types = config.normalisation();
  if (!types.mean)
    for (size_t b = 0; b < rewards.size(); ++b)
      if (step.responses[b].is_judged) rewards[b] -= config.reward_baseline;
  if (config.adv_estimator->samples_baseline) {
    for (size_t b = 0; b < rewards.size(); ++b) {
      ROLL_CHECK(step.responses[b].baseline.has_value(), "the estimator subtracts the reward of a greedy response");
      rewards[b] -= *step.responses[b].baseline;
    }
  }
  if (!types.mean && !types.deviation) return rewards;
  const NormStatistics statistics(step, num_groups, running, types);
  for (size_t b = 0; b < rewards.size(); ++b) {
    if (!step.responses[b].is_judged) {
      rewards[b] = 0;
      continue;
    }
    if (types.mean) rewards[b] -= statistics.find_moments(b, *types.mean).mean;
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
  for (const ResponseFacts& response : experience.responses)
    counts.push_back(static_cast<double>(response.num_model_tokens()));
  const at::Tensor lengths = at::tensor(counts, at::kDouble);
  return masked_moments(response_sums(experience, kl) / lengths.clamp_min(1),
                        lengths * judged_mask(experience.responses), &ranks);
}

at::Tensor make_token_rewards(const Experience& experience, const std::vector<double>& rewards, const at::Tensor& kl,
                              double kl_coefficient) {
  ROLL_CHECK_EQ(static_cast<int64_t>(rewards.size()), experience.num_sequences(), "every sequence has a reward");
  at::Tensor token_rewards = at::zeros({experience.tokens.num_tokens()}, at::kDouble);
  double* reward = token_rewards.mutable_data_ptr<double>();
  for (size_t b = 0; b < rewards.size(); ++b) {
    const int64_t last_token = experience.tokens.cu_seqlens[b + 1] - 1;
    if (experience.responses[b].response_length > 0) reward[last_token - 1] = rewards[b];
  }
  if (kl.defined()) {
    const at::Tensor masked =
        at::where(experience.response_mask().ne(0), kl.to(at::kDouble), at::zeros({}, at::kDouble));
    token_rewards = token_rewards - masked * kl_coefficient;
  }
  return token_rewards.to(at::kFloat);
}

}  // namespace roll
