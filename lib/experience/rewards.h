// From scores to token rewards: which sequences count, normalisation, the KL penalty.
// Statistics are those of the whole global batch over all ranks; groups may be spread over ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experience/config.h"
#include "experience/experience.h"
#include "experience/kl_controller.h"
#include "experience/moments.h"

namespace roll {

/// Per-group (prompt) moments of one number per sequence, over all ranks, by group index. **Collective** (twice).
std::vector<Moments> group_moments(const std::vector<double>& values, const std::vector<int64_t>& group_index,
                                   int64_t num_groups, const AllReduce& all_reduce);

/// [B] 1 where the sequence carries loss:
///   max_len_mask        not truncated
///   difficulty_mask     low < mean score of its group < high
///   error_max_len_clip  not (score <= 0 and response_length >= error_max_len_threshold)
/// UserError: error_max_len_clip without its threshold. **Collective** under difficulty_mask.
std::vector<char> sample_mask(const Experience& experience, const ExperienceConfig& config, int64_t num_groups,
                              const AllReduce& all_reduce);

/// [B] rewards after reward_clip, then (r - mean) / (deviation + 1e-6) by norm_mean_type and norm_std_type (n - 1;
/// running: of all rewards so far, this batch included). grpo means group and group. UserError: a group deviation where
/// a group has one sequence. **Collective**.
std::vector<double> sequence_rewards(const Experience& experience, const ExperienceConfig& config, int64_t num_groups,
                                     RunningMoments& running, const AllReduce& all_reduce);

/// [T] float32: each sequence's reward on its last response token (an empty response gets none), minus
/// kl_coefficient * kl under the response mask when `kl` is defined.
at::Tensor make_token_rewards(const Experience& experience, const std::vector<double>& rewards, const at::Tensor& kl,
                              double kl_coefficient);

}  // namespace roll
