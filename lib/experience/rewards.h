// From scores to token rewards: which sequences count, normalisation, the KL penalty.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experience/config.h"
#include "experience/experience.h"
#include "experience/moments.h"

namespace roll {

// What needs no tokens is computed of the whole step on every rank.

/// [B] float64, 1 where the response is judged.
at::Tensor judged_mask(const std::vector<ResponseFacts>& responses);

/// Per-group (prompt) moments of one number per judged sequence, by group index.
std::vector<Moments> group_moments(const std::vector<double>& values, const StepFacts& step, int64_t num_groups);

/// By group index, 1 where the rewards of the group's judged responses differ: only such groups have a signal.
std::vector<char> groups_that_differ(const StepFacts& step, int64_t num_groups);

/// [B] 1 where the sequence carries loss: it is judged, and
///   max_len_mask        not truncated
///   difficulty_mask     low < mean score of its group < high
///   error_max_len_clip  not (score <= 0 and response_length >= error_max_len_threshold)
/// UserError: error_max_len_clip without its threshold.
std::vector<char> sample_mask(const StepFacts& step, const ExperienceConfig& config, int64_t num_groups);

/// [B] GDPO (Liu et al. 2026, Group reward-Decoupled Normalization): each part of the rewards less its group's mean
/// over its deviation, the weighted sum of these, and with `over_batch` that less the batch's mean over its deviation;
/// deviations as below. A response without parts, whose reward is 0, has 0 of each.
std::vector<double> decoupled_rewards(const StepFacts& step, int64_t num_groups, bool over_batch);

/// [B] (reward - reward_baseline - mean) / (deviation + 1e-6) by config.normalisation() (n - 1; running: of all rewards
/// so far, these included), where a greedy response's reward is the mean if the estimator samples one; 0 where there is
/// none. A group of which one response is left has no deviation: 0. UserError: a deviation of what is only ever one
/// response.
std::vector<double> normalised_rewards(const StepFacts& step, const ExperienceConfig& config, int64_t num_groups,
                                       RunningMoments& running);

/// KL(old, reference) per token [T], 0 outside the response mask; undefined without a reference or old log-probs.
/// Bug: the token rewards need it.
at::Tensor old_to_ref_kl(const Experience& experience, const ExperienceConfig& config);
/// Moments, over the responses of all `ranks`, of each response's mean of `kl` [T]. **Collective** over them.
Moments sequence_kl(const Experience& experience, const at::Tensor& kl, Communicator& ranks);

/// [T] float32: each sequence's reward on its last response token (an empty response gets none), minus
/// kl_coefficient * kl under the response mask when `kl` is defined.
at::Tensor make_token_rewards(const Experience& experience, const std::vector<double>& rewards, const at::Tensor& kl,
                              double kl_coefficient);

}  // namespace roll
