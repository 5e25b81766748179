// Advantage estimators over packed sequences, chosen by the key adv_estimator and called by build.cpp. They read only
// response tokens, and nothing crosses a sequence's end. Group: the responses to one prompt. An unjudged response is
// one whose reward could not be obtained. To add an estimator, write its function and its row in advantages.cpp.
//
//   gae                           a critic's values, discounted by gamma and lambda      Schulman et al. 2015
//   reinforce                     sum of future rewards                                  Williams 1992
//   grpo                          reinforce, with rewards normalised by mean and
//                                 deviation of their group                               Shao et al. 2024
//   gdpo                          reinforce, with each part of the rewards normalised over
//                                 its group, and their weighted sum over the batch        Liu et al. 2026
//   gdpo_verl                     gdpo with verl's rule: the sum is whitened over the batch's tokens,
//                                 so long responses weigh more in its mean
//   reinforce_plus_plus           reinforce, with advantages whitened over the batch     Hu et al. 2025
//   reinforce_plus_plus_baseline  reinforce_plus_plus, with rewards less the group mean  Hu et al. 2025
//   remax                         reinforce, with rewards less a greedy response's       Li et al. 2023
//   rloo, opo, gpg, gpg_verl      the whole response is one action: see the functions
//   step_reinforce, gigpo         a turn is one action: see turn_advantages.h
//   optimal_token_baseline        reinforce, less a group mean token by token            Li et al. 2026
//   optimal_token_baseline_verl   optimal_token_baseline, with verl's rule for tokens that one response reaches
//
// Names without `_verl` follow the papers. verl's formulae are the same unless a `_verl` variant exists here.
#pragma once

#include <ATen/core/Tensor.h>

#include "experience/config.h"
#include "experience/part.h"

namespace roll {

/// Result over this rank's T tokens; entry t belongs to token t + 1, as in Experience.
struct AdvantagesAndReturns {
  at::Tensor advantages;  // [T] float32, 0 outside sampled tokens
  at::Tensor returns;     // [T] float32, 0 outside sampled tokens; targets of a critic
};

/// GAE (Schulman et al. 2015), with token reward r and critic's value V: delta_t = r_t + gamma V_{t+1} - V_t, advantage
/// A_t = delta_t + gamma lambda A_{t+1}. The critic's target is R = A + V, where A uses lambd_critic if set (VC-PPO,
/// Yuan et al. 2025). lambda is lambd, or with lambd_alpha and response length l: max(0, 1 - 1 / (lambd_alpha l))
/// (VAPO, Yue et al. 2025). V after the last response token is 0; with `bootstrap_truncated`, truncated responses use
/// the value at the sequence's last index. Reads token_rewards and values; computes in float64.
AdvantagesAndReturns gae(const Experience& experience, const ExperienceConfig& config);

/// Returns the discounted sum of the token rewards from each token on: G_t = r_t + gamma G_{t+1}. advantages = returns
/// = G.
AdvantagesAndReturns discounted_returns(const Experience& experience, const ExperienceConfig& config);

/// OTB (Li et al. 2026, The Optimal Token Baseline): the return G_t (discounted_returns) less the group's baseline at
/// token t, B_t = sum W_t G_t / (sum W_t + 1e-8) over the judged responses that reach t. W_t is the sum of energies up
/// to t, each times is_weights squared if defined. Where only one response is left, its advantage is 0; with
/// `omits_tail_baseline` (verl's rule) no baseline is subtracted there. returns = G_t. Reads token_rewards and
/// energies; computes in float64. Throws Bug if energies are missing. **Collective** over part.ranks.
AdvantagesAndReturns optimal_token_baseline(const Part& part, const ExperienceConfig& config,
                                            bool omits_tail_baseline = false);

// In the functions below, a response's return R is the sum of its token rewards, KL included. All its sampled tokens
// get the same advantage; returns = advantages. Unjudged responses get 0 and enter no mean. A group's responses may lie
// on several ranks. **Collective** over part.ranks.

/// RLOO (Ahmadian et al. 2024): R less the mean R of the prompt's other responses; 0 if there are none.
AdvantagesAndReturns leave_one_out(const Part& part, const ExperienceConfig& config);

/// OPO (Hao et al. 2025): R less the mean over the group weighted by the lengths l of its responses, sum l R / sum l.
AdvantagesAndReturns length_weighted_baseline(const Part& part, const ExperienceConfig& config);

/// GPG (Chu et al. 2025): alpha (R - group mean). alpha = responses with loss (a token in final_response_mask) /
/// responses with loss in groups whose R differ, 0 if no group's differ: it makes up for groups that teach nothing.
/// With `counts_rewards` (verl's rule), the divisor is the number of responses with loss and R != 0, at least 1.
AdvantagesAndReturns group_policy_gradient(const Part& part, const ExperienceConfig& config,
                                           bool counts_rewards = false);

}  // namespace roll
