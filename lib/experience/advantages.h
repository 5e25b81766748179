// Advantage estimators over packed sequences, chosen by the key adv_estimator and called by build.cpp. They read only
// response tokens, and no sum crosses a sequence's end. Group: the responses to one prompt. An unjudged response is one
// whose reward could not be obtained. To add an estimator, write its function and its row in advantages.cpp.
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

/// Result of an estimator over this rank's T tokens; entry t belongs to token t + 1, as in Experience.
struct AdvantagesAndReturns {
  at::Tensor advantages;  // [T] float32; build.cpp sets it to 0 outside final_response_mask
  at::Tensor returns;     // [T] float32, 0 outside sampled tokens; targets of a critic
};

/// Computes GAE (Schulman et al. 2015) from token rewards r and the critic's values V: delta_t = r_t + gamma V_{t+1} -
/// V_t, advantage A_t = delta_t + gamma lambda A_{t+1}. Only sampled tokens are steps; the environment's are skipped.
/// The return, which is the critic's target, is A + V, where A uses lambd_critic if set (VC-PPO, Yuan et al. 2025).
/// lambda is lambd, or, if lambd_alpha is set, max(0, 1 - 1 / (lambd_alpha l)) for l sampled tokens (VAPO, Yue et al.
/// 2025). V after the last response token is 0; with `bootstrap_truncated`, truncated responses use the value at the
/// sequence's last index. Reads token_rewards and values, which must be on the host; computes in float64. Throws Bug if
/// one is missing.
AdvantagesAndReturns gae(const Experience& experience, const ExperienceConfig& config);

/// Computes the discounted sum of the token rewards from each sampled token on: G_t = r_t + gamma G_{t+1}. advantages =
/// returns = G. Throws Bug if token_rewards are missing.
AdvantagesAndReturns discounted_returns(const Experience& experience, const ExperienceConfig& config);

/// Computes OTB (Li et al. 2026, The Optimal Token Baseline): the return G_t (discounted_returns()) less the group's
/// baseline B_t at token t of the response. B_t = sum W_t G_t / (sum W_t + 1e-8) over the judged responses of the group
/// with a token t. W_t is the sum of the response's energies up to t, each times is_weights squared if defined. Where
/// only one response has a token t, its advantage is 0; with `omits_tail_baseline` (verl's rule) no baseline is
/// subtracted there. Not for responses with turns. returns = G_t. Reads token_rewards and energies; computes in
/// float64. Throws Bug if energies are missing. **Collective** over part.ranks.
AdvantagesAndReturns optimal_token_baseline(const Part& part, const ExperienceConfig& config,
                                            bool omits_tail_baseline = false);

// In the functions below, a response's return R is the sum of its token rewards, KL included. All its sampled tokens
// get the same advantage; returns = advantages. Unjudged responses get 0 and enter no mean. A group's responses may lie
// on several ranks. **Collective** over part.ranks.

/// Computes RLOO (Ahmadian et al. 2024): R less the mean R of the prompt's other responses; 0 if there are none.
AdvantagesAndReturns leave_one_out(const Part& part, const ExperienceConfig& config);

/// Computes OPO (Hao et al. 2025): R less the group's mean R weighted by response lengths, sum l R / sum l for l
/// sampled tokens.
AdvantagesAndReturns length_weighted_baseline(const Part& part, const ExperienceConfig& config);

/// Computes GPG (Chu et al. 2025): alpha (R - group mean). alpha makes up for groups without a learning signal: it is
/// n / m, or 0 if m is 0. n is the number of responses with loss (a token in final_response_mask), m the number with
/// loss and in groups whose R differ. With `counts_rewards` (verl's rule), m is the number of responses with loss and R
/// != 0, at least 1.
AdvantagesAndReturns group_policy_gradient(const Part& part, const ExperienceConfig& config,
                                           bool counts_rewards = false);

}  // namespace roll
