// Computes token rewards from rewards of responses, for build.cpp: masks of samples, normalisation, KL penalty. A group
// is the responses to one prompt. A response is judged if a reward could be obtained for it (ResponseFacts::is_judged).
// Legend: B sequences of `step` or `responses` (all ranks), T tokens of this rank's experience.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experience/config.h"
#include "experience/experience.h"
#include "experience/moments.h"

namespace roll {

// Functions that take only facts compute the same on every rank, without communication. num_groups: number of prompts
// of the step. Response groups must be in [0, num_groups); else the functions throw Bug.

/// Returns [B] float64: 1 for judged responses, else 0.
at::Tensor judged_mask(const std::vector<ResponseFacts>& responses);

/// Returns each group's moments over its judged responses, [num_groups]. values: [B]; those of others are not read.
std::vector<Moments> group_moments(const std::vector<double>& values, const StepFacts& step, int64_t num_groups);

/// Returns [num_groups]: 1 if the rewards of the group's judged responses differ; 0 if they are all equal, so that the
/// group gives no learning signal.
std::vector<char> groups_that_differ(const StepFacts& step, int64_t num_groups);

/// Returns [B]: 1 if the sequence carries loss, that is, it is judged and passes the enabled masks:
///   max_len_mask        not truncated
///   difficulty_mask     low < mean score of its group < high
///   error_max_len_clip  not (score <= 0 and sampled tokens >= error_max_len_threshold)
/// Throws UserError if error_max_len_clip is on without its threshold.
std::vector<char> sample_mask(const StepFacts& step, const ExperienceConfig& config, int64_t num_groups);

/// Returns GDPO's rewards [B] (Liu et al. 2026, Group reward-Decoupled Normalization): the weighted sum of the reward
/// parts (ResponseFacts::parts), where a part is normalised by its mean and deviation over the group's judged
/// responses. With over_batch, the sums are then normalised over all judged responses of the step. Normalised values
/// are (x - mean) / (deviation + 1e-6), with deviations over n - 1. Unjudged responses get 0. A judged response with
/// reward 0 may lack parts, which then count as 0; throws Bug if one with another reward lacks them.
std::vector<double> decoupled_rewards(const StepFacts& step, int64_t num_groups, bool over_batch);

/// Returns [B] (reward - mean) / (deviation + 1e-6), with or without mean and deviation as config.normalisation() says;
/// without a mean, reward_baseline takes its place. These are statistics of the judged responses' rewards, with
/// deviations over n - 1. For NormType::kRunning they cover all steps so far: this call first adds
/// the step's rewards to `running`; otherwise it leaves `running` alone. Two kinds of estimators differ:
/// separates_rewards returns decoupled_rewards() instead, over the batch unless the estimator whitens; samples_baseline
/// also subtracts the reward of the prompt's greedy response. The entry of an unjudged response is 0; without mean and
/// deviation it has no meaning.
///
/// Throws UserError if all responses are judged and a deviation over fewer than two is needed. If some are unjudged,
/// this deviation counts as 0. Throws Bug if samples_baseline is set and a response has no greedy reward.
std::vector<double> normalised_rewards(const StepFacts& step, const ExperienceConfig& config, int64_t num_groups,
                                       RunningMoments& running);

/// Returns estimates of KL(old policy, reference) per token by kl_penalty, in nats: [T], 0 outside response_mask.
/// Returns an undefined tensor if old or reference log-probs are undefined; throws Bug if the token rewards need the KL
/// then (config.penalises_kl()).
at::Tensor old_to_ref_kl(const Experience& experience, const ExperienceConfig& config);
/// Returns moments over the judged responses with sampled tokens on all `ranks`; the value of a response is the sum of
/// `kl` [T] over it, divided by its number of sampled tokens. **Collective** over `ranks`.
Moments sequence_kl(const Experience& experience, const at::Tensor& kl, Communicator& ranks);

/// Returns [T] float32: each sequence's reward on its last response token (nowhere for an empty response), minus
/// kl_coefficient * kl inside response_mask if `kl` is defined. As in masks, entry t belongs to token t + 1. rewards:
/// one per sequence of `experience`, in its order. Throws Bug if their number differs.
at::Tensor make_token_rewards(const Experience& experience, const std::vector<double>& rewards, const at::Tensor& kl,
                              double kl_coefficient);

}  // namespace roll
