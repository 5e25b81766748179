// Policy losses per token, selected by the key pg_variant and used by actor_loss() (losses.h). With r = pi / pi_old of
// a token (or sequence), A its advantage, sg() = stop-gradient, and the variant's settings in PolicyArgs (config.h):
//
//   ppo      -min(r A, clip(r, 1 - low, 1 + high) A), dual_clip() if set    Schulman et al. 2017; Ye et al. 2020
//   vanilla  -A log pi                                                      Williams 1992 (REINFORCE)
//   tis      -sg(clip(r, lower, upper)) A log pi                            truncated importance sampling
//   topr     score > 0: -w+ A log pi;  else -w- sg(clip(r, 0, 1)) A log pi  TOPR as in ROLL
//   cispo    -sg(clip(r, 1 - low, 1 + high)) A log pi                       MiniMax-M1 2025, eq. 4; unified mask: eq. 7
//   kimi15   -A log pi + tau/2 (log pi - log pi_old)^2                      Kimi k1.5 as in ROLL
//   gmpo     -A exp(mean over the response of sign(A) min(sign(A) log r, sign(A) clip(log r, -low, high)))
//                                                                           Zhao et al. 2025 (GMPO), eq. 4
//   sapo     -A 4/tau sigmoid(tau (r - 1)), tau by the sign of A            Gao et al. 2025 (SAPO), eq. 5
//   dppo_tv, dppo_kl  -sg(min(r, max)) A log pi; 0 where A pushes pi further from pi_old while their
//            divergence over {this token, another} exceeds a threshold      Qi et al. 2026 (DPPO)
//   topr_response    A >= 0: -A log pi;  else -sg(clip(R, 0, 1)) A log pi   Le Roux et al. 2025 (TOPR)
//   kimi15_response  -A log pi + tau/2 (log R)^2 / tokens                   Kimi k1.5 2025, eq. 3
//
// r is the token's ratio, GSPO's sequence ratio, or 1 with the gradient of r (key importance_sampling); gmpo always
// uses the token's. R is the ratio of the whole response: the product of its tokens' ratios. The papers' gradients use
// sums over responses: loss_agg_mode seq-mean-token-sum.
// To add a loss, write its function and row in policy.cpp and its keys in PolicyArgs (config.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "loss/config.h"

namespace roll {

/// Inputs of a policy loss; tensors are [T], T tokens of a micro-batch. Values outside response_mask must be finite;
/// they get weight 0 later.
struct PolicyInputs {
  at::Tensor log_probs;   // with gradient
  at::Tensor log_ratio;   // log_probs - old_log_probs, with gradient
  at::Tensor ratio;       // r, by importance_sampling; with gradient
  at::Tensor advantages;  // no gradient
  at::Tensor response_mask;
  std::vector<int64_t> cu_seqlens;  // [B+1] boundaries of the B sequences
  at::Tensor bounds{};              // cu_seqlens as int32 on the device; undefined on the CPU
  at::Tensor is_positive{};         // [T] 1 if the sequence's score is above 0; set if needs_sign
};

/// Result of a policy loss.
struct PolicyLoss {
  at::Tensor loss;          // [T] with gradient
  at::Tensor clipped;       // [T] 1 where the clip stops the gradient (ppo) or changes the weight (others)
  at::Tensor above, below;  // [T] 1 where the ratio is above or below the range of the loss; no gradient
};

}  // namespace roll
