// Computes token rewards from scores: sample masks, normalisation, KL penalty. Used by build.cpp.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experience/config.h"
#include "experience/experience.h"
#include "experience/moments.h"

namespace roll {

// Functions that need no tokens compute the whole step on every rank.

/// Returns [B] float64: 1 for judged responses.
at::Tensor judged_mask(const std::vector<ResponseFacts>& responses);

/// Returns each group's moments of a value per sequence, over judged sequences; indexed by group.
std::vector<Moments> group_moments(const std::vector<double>& values, const StepFacts& step, int64_t num_groups);

/// Returns by group index 1 if the rewards of the group's judged responses differ; others give no learning signal.
std::vector<char> groups_that_differ(const StepFacts& step, int64_t num_groups);

/// Returns [B]: 1 if the sequence carries loss, that is, it is judged and passes the enabled masks:
///   max_len_mask        not truncated
///   difficulty_mask     low < mean score of its group < high
///   error_max_len_clip  not (score <= 0 and response_length >= error_max_len_threshold)
/// UserError: error_max_len_clip without its threshold.
std::vector<char> sample_mask(const StepFacts& step, const ExperienceConfig& config, int64_t num_groups);

/// Returns GDPO's rewards [B] (Liu et al. 2026, Group reward-Decoupled Normalization): the weighted sum of the reward
/// parts, each normalised by its group's mean and deviation. `over_batch` also normalises the sum over the batch. The
/// deviations are n - 1, plus 1e-6. A response without parts (reward 0) counts as 0 in each.
std::vector<double> decoupled_rewards(const StepFacts& step, int64_t num_groups, bool over_batch);

/// Returns [B] (reward - reward_baseline - mean) / (deviation + 1e-6) by config.normalisation() (n - 1; running: over
/// all rewards so far, including these). If the estimator samples a greedy response, its reward is subtracted too.
/// Unjudged responses get 0, and so do groups with one judged response if some are unjudged. UserError: a deviation
/// over a single response.
std::vector<double> normalised_rewards(const StepFacts& step, const ExperienceConfig& config, int64_t num_groups,
                                       RunningMoments& running);

/// Returns KL(old, reference) per token [T], 0 outside the response mask; undefined without old or reference log-probs.
/// Bug: these are missing but the token rewards need the KL.
at::Tensor old_to_ref_kl(const Experience& experience, const ExperienceConfig& config);
/// Returns the moments of each response's mean of `kl` [T] over all `ranks`. **Collective** over them.
Moments sequence_kl(const Experience& experience, const at::Tensor& kl, Communicator& ranks);

/// Returns [T] float32: each sequence's reward on its last response token (none for an empty response), minus
/// kl_coefficient * kl under the response mask if `kl` is defined.
at::Tensor make_token_rewards(const Experience& experience, const std::vector<double>& rewards, const at::Tensor& kl,
                              double kl_coefficient);

}  // namespace roll
