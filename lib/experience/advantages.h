// Advantages and returns over packed sequences: only response tokens take part, nothing crosses a sequence's end.
// One more estimator: its function and its row in advantages.cpp.
//
//   gae                           a critic's values, discounted by gamma and lambda      Schulman et al. 2015
//   reinforce                     the sum of rewards to come                             Williams 1992
//   grpo                          reinforce, with rewards normalised by mean and
//                                 deviation of their group                               Shao et al. 2024
//   gdpo                          reinforce, with each part of the rewards normalised over
//                                 its group, and their weighted sum over the batch        Liu et al. 2026
//   gdpo_verl                     that, with verl's rule for the sum: it is whitened over the
//                                 batch's tokens, so long responses weigh more in its mean
//   reinforce_plus_plus           reinforce, with advantages whitened over the batch     Hu et al. 2025
//   reinforce_plus_plus_baseline  that, with rewards less the mean of their group        Hu et al. 2025
//   remax                         reinforce, with rewards less a greedy response's       Li et al. 2023
//   rloo, opo, gpg, gpg_verl      a response is one action: see the functions
//   step_reinforce, gigpo         a turn is one action: see turn_advantages.h
//   optimal_token_baseline        reinforce, less a mean over the group token by token     Li et al. 2026
//   optimal_token_baseline_verl   that, with verl's rule for what one response alone has
//
// Names without `_verl` are the papers'. verl has the same formulae under them but for those that end so here.
#pragma once

#include <ATen/core/Tensor.h>

#include "experience/config.h"
#include "experience/part.h"

namespace roll {

struct AdvantagesAndReturns {
  at::Tensor advantages;  // [T] float32, 0 outside the response mask
  at::Tensor returns;     // likewise
};

/// GAE (Schulman et al. 2015): delta_t = r_t + gamma V_{t+1} - V_t, A_t = delta_t + gamma lambda A_{t+1}, and the
/// critic's target R = A + V, whose A has lambd_critic where that is set (VC-PPO, Yuan et al. 2025). lambda is lambd,
/// or under lambd_alpha that of the response's length l: max(0, 1 - 1 / (lambd_alpha l)) (VAPO, Yue et al. 2025). V
/// after the last response token is 0, or, for truncated responses when `bootstrap_truncated`, the value that stands at
/// the sequence's last index. Reads token_rewards and values; runs in float64.
AdvantagesAndReturns gae(const Experience& experience, const ExperienceConfig& config);

/// Reverse discounted sum of the token rewards; advantages = returns.
AdvantagesAndReturns discounted_returns(const Experience& experience, const ExperienceConfig& config);

/// OTB (Li et al. 2026, The Optimal Token Baseline): the return G_t (discounted_returns) less that of the group at its
/// token t, B_t = sum W_t G_t / (sum W_t + 1e-8) over the judged responses that reach it. W_t is the sum over tokens up
/// to t of energies, each times the square of is_weights where those are. So where one response alone is left, its
/// advantage is 0; with `bares_tail`, verl's rule, nothing is taken off there. returns = G_t. Reads token_rewards and
/// energies; runs in float64. **Collective** over the part's ranks.
AdvantagesAndReturns optimal_token_baseline(const Part& part, const ExperienceConfig& config, bool bares_tail = false);

// Below, the return R of a response is the sum of its token rewards, any KL included; all its tokens have the same
// advantage, and returns = advantages. Responses that nobody judged have 0 and count nowhere. **Collective** over the
// part's ranks, for groups are shared out.

/// RLOO (Ahmadian et al. 2024): R less the mean of the other responses' to the prompt; 0 where there is no other.
AdvantagesAndReturns leave_one_out(const Part& part, const ExperienceConfig& config);

/// OPO (Hao et al. 2025): R less the mean over the group weighted by the lengths l of its responses, sum l R / sum l.
AdvantagesAndReturns length_weighted_baseline(const Part& part, const ExperienceConfig& config);

/// GPG (Chu et al. 2025): alpha (R - mean over the group). alpha makes up for groups that agree and teach nothing: all
/// responses that carry loss, over those of them whose group does not agree; 0 where all agree. With `counts_rewards`,
/// verl's rule, it is all responses over those whose R is not 0, at least 1.
AdvantagesAndReturns group_policy_gradient(const Part& part, const ExperienceConfig& config,
                                           bool counts_rewards = false);

}  // namespace roll
