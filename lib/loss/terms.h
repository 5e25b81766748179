// Loss terms per token for losses.h, before aggregation (aggregate.h). All tensors are [T] float32 unless stated, T
// tokens of a micro-batch; log-probs are in nats. Legend: B sequences, A advantage, V value, R return.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "loss/config.h"

namespace roll {

/// Range of PPO's ratio.
struct ClipRange {
  double low = 0.2;   // ratio >= 1 - low
  double high = 0.2;  // ratio <= 1 + high
};

/// Returns estimates of KL(policy || base) from one sample per token. d: log-probs of the policy minus those of the
/// base model. kKl: d; kAbs: |d|; kMse: d^2/2; kK3: clamp(exp(-d) + d - 1, -10, 10) (Schulman 2020, "Approximating KL
/// divergence").
at::Tensor kl_term(const at::Tensor& d, KlPenalty penalty);

/// Returns exp(min(log_ratio, 80)), which is finite; tokens with a log_ratio above 80 get no gradient.
at::Tensor token_ratio(const at::Tensor& log_ratio);

/// Sums of masked values per sequence.
struct SequenceSums {
  at::Tensor sums;      // [B]
  at::Tensor counts;    // [B] number of masked tokens, but at least 1
  at::Tensor sequence;  // [T] int64: index of each token's sequence
  /// Returns [T]: for each token the value [B] of its sequence.
  at::Tensor on_tokens(const at::Tensor& sequence_values) const;
};
/// Returns the sums of `x` inside `mask` per sequence. cu_seqlens: [B+1] boundaries; bounds: the same as int32 on the
/// device, which saves a copy; may be undefined.
SequenceSums sequence_sums(const at::Tensor& x, const at::Tensor& mask, const std::vector<int64_t>& cu_seqlens,
                           const at::Tensor& bounds = {});

/// Returns GSPO's ratio (Zheng et al. 2025): each token gets token_ratio(m), where m is the mean of log_ratio over the
/// masked tokens of its sequence (0 if it has none). The sequences must be whole. cu_seqlens, bounds: as for
/// sequence_sums().
at::Tensor sequence_ratio(const at::Tensor& log_ratio, const at::Tensor& mask, const std::vector<int64_t>& cu_seqlens,
                          const at::Tensor& bounds = {});

/// Returns the divergence [T] between the student's distribution q and the teacher's p, both softmaxes over the same k
/// tokens. logits [T, k]: the student's, divided here by args.kd_temperature; teacher [T, k]: log p.
///   forward_kl          KL(p || q) (Hinton et al. 2015)
///   reverse_kl          KL(q || p) (Gu et al. 2024, MiniLLM)
///   adaptive_kl         h KL(p || q) + (1 - h) KL(q || p) (Wu et al. 2025, AKL), where h is the share of
///                       sum |p - q| outside p's tail (adaptive_kl_alpha)
///   skewed_forward_kl   KL(p || a p + (1 - a) q) with a = skew_lambda (Ko et al. 2024, DistiLLM)
///   skewed_reverse_kl   KL(q || (1 - a) p + a q)
///   js_divergence       (KL(p || m) + KL(q || m)) / 2 with m = (p + q) / 2
at::Tensor divergence_term(const at::Tensor& logits, const at::Tensor& teacher, const DivergenceArgs& args);

/// Result of policy_term().
struct PolicyTerm {
  at::Tensor loss;     // -min(ratio * A, clip(ratio) * A)
  at::Tensor clipped;  // 1 where the clip is active, so that no gradient flows; float32, no gradient
};
/// Returns the negative of PPO's clipped objective (Schulman et al. 2017) per token.
PolicyTerm policy_term(const at::Tensor& ratio, const at::Tensor& advantages, ClipRange clip);

/// Returns the loss with that of tokens with A < 0 bounded: -max(-loss, c * A) (dual clip, Ye et al. 2020). c: above 1.
at::Tensor dual_clip(const at::Tensor& loss, const at::Tensor& advantages, double c);

/// Result of value_term().
struct ValueTerm {
  at::Tensor loss;     // 0.5 * max((V - R)^2, (clip(V, old +- clip) - R)^2); without a clip 0.5 * (V - R)^2
  at::Tensor clipped;  // 1 where the clipped side is larger; float32, no gradient
};
/// Returns the critic's loss per token. value_clip: width of the clip range around old_values; nullopt: no clip.
ValueTerm value_term(const at::Tensor& values, const at::Tensor& old_values, const at::Tensor& returns,
                     std::optional<double> value_clip);

}  // namespace roll
