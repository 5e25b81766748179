// Loss terms per token for losses.h, without averaging (see aggregate.h). All tensors are [T] float32, log-probs in
// nats.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "loss/config.h"

namespace roll {

struct ClipRange {
  double low = 0.2;   // ratio >= 1 - low
  double high = 0.2;  // ratio <= 1 + high
};

/// Returns KL(policy || base) estimated from one sample, with d = log_probs - base: kKl d, kAbs |d|, kMse d^2/2,
/// kK3 clamp(exp(-d) + d - 1, -10, 10) (Schulman 2020, "Approximating KL divergence").
at::Tensor kl_term(const at::Tensor& d, KlPenalty penalty);

/// Returns exp(min(log_ratio, 80)), which is finite; tokens above 80 get no gradient through their ratio.
at::Tensor token_ratio(const at::Tensor& log_ratio);

/// Sums per sequence: [B] sums of masked values, and [B] numbers of masked tokens (at least 1).
struct SequenceSums {
  at::Tensor sums, counts;
  at::Tensor sequence;                                            // [T] index of each token's sequence
  at::Tensor on_tokens(const at::Tensor& sequence_values) const;  // [B] -> [T]
};
/// Sums `x` under `mask` per sequence. x, mask: [T]; cu_seqlens: [B+1]; bounds: cu_seqlens on the device, optional.
SequenceSums sequence_sums(const at::Tensor& x, const at::Tensor& mask, const std::vector<int64_t>& cu_seqlens,
                           const at::Tensor& bounds = {});

/// Returns GSPO's ratio (Zheng et al. 2025): each token gets token_ratio(mean of log_ratio over its sequence's mask), 1
/// if the mask is empty. cu_seqlens: [B+1] of whole sequences.
at::Tensor sequence_ratio(const at::Tensor& log_ratio, const at::Tensor& mask, const std::vector<int64_t>& cu_seqlens,
                          const at::Tensor& bounds = {});

/// Returns the divergence [T] between the student's distribution q and the teacher's p, both softmaxes over the same k
/// tokens. `logits` [T, k]: the student's, divided here by kd_temperature; `teacher` [T, k]: log p.
///   forward_kl          KL(p || q) (Hinton et al. 2015)
///   reverse_kl          KL(q || p) (Gu et al. 2024, MiniLLM)
///   adaptive_kl         both, weighted by the gaps |p - q| in p's head and in its tail (Wu et al. 2025, AKL)
///   skewed_forward_kl   KL(p || a p + (1 - a) q) with a = skew_lambda (Ko et al. 2024, DistiLLM)
///   skewed_reverse_kl   KL(q || (1 - a) p + a q)
///   js_divergence       (KL(p || m) + KL(q || m)) / 2 with m = (p + q) / 2
at::Tensor divergence_term(const at::Tensor& logits, const at::Tensor& teacher, const DivergenceArgs& args);

struct PolicyTerm {
  at::Tensor loss;     // -min(ratio * A, clip(ratio) * A)
  at::Tensor clipped;  // 1 where the clip is active, so that no gradient flows; float32, no gradient
};
/// Returns PPO's clipped objective (Schulman et al. 2017) as a loss.
PolicyTerm policy_term(const at::Tensor& ratio, const at::Tensor& advantages, ClipRange clip);

/// Bounds the loss of tokens with A < 0: -max(-loss, c * A) (dual clip, Ye et al. 2020).
at::Tensor dual_clip(const at::Tensor& loss, const at::Tensor& advantages, double c);

struct ValueTerm {
  at::Tensor loss;     // 0.5 * max((V - R)^2, (clip(V, old +- clip) - R)^2); without a clip 0.5 * (V - R)^2
  at::Tensor clipped;  // 1 where the clipped side is larger; float32, no gradient
};
ValueTerm value_term(const at::Tensor& values, const at::Tensor& old_values, const at::Tensor& returns,
                     std::optional<double> value_clip);

}  // namespace roll
