// The terms of the losses, per token; no averaging here (see aggregate.h). All tensors [T] float32, log-probs in nats.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "loss/config.h"

namespace roll {

struct ClipRange {
  double low = 0.2;   // the ratio is kept >= 1 - low
  double high = 0.2;  // and <= 1 + high
};

/// KL(policy || base) estimated from one sample, with d = log_probs - base: kKl d, kAbs |d|, kMse d^2/2,
/// kK3 clamp(exp(-d) + d - 1, -10, 10) (Schulman 2020, "Approximating KL divergence").
at::Tensor kl_term(const at::Tensor& d, KlPenalty penalty);

/// exp(log_ratio), finite: exponents above 80 count as 80, and such a token has no gradient through its ratio.
at::Tensor token_ratio(const at::Tensor& log_ratio);

/// What each sequence adds up to: its masked tokens and their number, at least 1; [B] both.
struct SequenceSums {
  at::Tensor sums, counts;
  at::Tensor sequence;                                         // [T] each token's
  at::Tensor on_tokens(const at::Tensor& of_sequences) const;  // [B] -> [T]
};
/// `x`, `mask`: [T]; `cu_seqlens` [B+1] of whole sequences.
SequenceSums sequence_sums(const at::Tensor& x, const at::Tensor& mask, const std::vector<int64_t>& cu_seqlens,
                           const at::Tensor& bounds = {});

/// GSPO (Zheng et al. 2025): every token of a sequence has the token_ratio of the mean over the mask of log_ratio.
/// `cu_seqlens` [B+1] of whole sequences; 1 where the mask is empty.
at::Tensor sequence_ratio(const at::Tensor& log_ratio, const at::Tensor& mask, const std::vector<int64_t>& cu_seqlens,
                          const at::Tensor& bounds = {});

/// How far a student's distribution q over k tokens is from its teacher's p over the same ones, [T]; both are softmaxes
/// over these k alone. `logits` [T, k]: the student's, which are divided by kd_temperature; `teacher` [T, k]: log p.
///   forward_kl          KL(p || q) (Hinton et al. 2015)
///   reverse_kl          KL(q || p) (Gu et al. 2024, MiniLLM)
///   adaptive_kl         both, weighed by the gaps |p - q| in p's head and in its tail (Wu et al. 2025, AKL)
///   skewed_forward_kl   KL(p || a p + (1 - a) q) with a = skew_lambda (Ko et al. 2024, DistiLLM)
///   skewed_reverse_kl   KL(q || (1 - a) p + a q)
///   js_divergence       (KL(p || m) + KL(q || m)) / 2 with m = (p + q) / 2
at::Tensor divergence_term(const at::Tensor& logits, const at::Tensor& teacher, const DivergenceArgs& args);

struct PolicyTerm {
  at::Tensor loss;     // -min(ratio * A, clip(ratio) * A)
  at::Tensor clipped;  // 1 where the clipped side is the smaller one, so that no gradient flows; float32, no gradient
};
/// PPO's clipped objective (Schulman et al. 2017) as a loss.
PolicyTerm policy_term(const at::Tensor& ratio, const at::Tensor& advantages, ClipRange clip);

/// Bounds the loss of negative advantages: where A < 0, -max(-loss, c * A) (Ye et al. 2020, dual clip).
at::Tensor dual_clip(const at::Tensor& loss, const at::Tensor& advantages, double c);

struct ValueTerm {
  at::Tensor loss;     // 0.5 * max((V - R)^2, (clip(V, old +- clip) - R)^2); without a clip 0.5 * (V - R)^2
  at::Tensor clipped;  // 1 where the clipped side is the larger one; float32, no gradient
};
ValueTerm value_term(const at::Tensor& values, const at::Tensor& old_values, const at::Tensor& returns,
                     std::optional<double> value_clip);

}  // namespace roll
