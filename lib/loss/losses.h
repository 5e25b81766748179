// Built-in losses of one micro-batch, for the trainers: terms (terms.h) summed with token weights of the whole
// mini-batch (aggregate.h). The loss and every metric are *sums*: adding them over micro-batches and ranks gives the
// mini-batch's values.
// Legend: B sequences, T packed tokens of the micro-batch. Index t of every [T] tensor refers to token t + 1. All
// tensors are on the model's device; log-probs are in nats. `counts`: of the whole mini-batch, over all ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "loss/aggregate.h"
#include "loss/settings.h"
#include "track/metrics.h"

namespace roll {

/// Metric values of a micro-batch that are still on the device, so that the host need not wait for each micro-batch.
struct Deferred {
  at::Tensor numbers;  // [n]
  /// Adds the fetched numbers, [n] float64 on the host, to `metrics`.
  std::function<void(const at::Tensor& on_host, Metrics& metrics)> add{};
};

/// Loss of a micro-batch.
struct LossResult {
  at::Tensor loss;                      // 0-dim float32 with gradient
  Metrics metrics;                      // names end in @sum
  std::vector<Deferred> deferred = {};  // metrics not yet fetched from the device
};

/// Returns all metrics of a result, deferred ones included. Waits for the device.
Metrics all_metrics(const LossResult& result);

/// Returns 0-dim sums as deferred metrics with these names, which end in @sum.
Deferred deferred_sums(std::vector<std::string> names, const std::vector<at::Tensor>& sums);

/// Inputs of actor_loss(); tensors are [T].
struct ActorInputs {
  TokenAxis axis;
  at::Tensor log_probs;      // with gradient
  at::Tensor entropy;        // undefined: no entropy term and no metric
  at::Tensor old_log_probs;  // before the step; undefined: log_probs, detached (one update per step)
  at::Tensor ref_log_probs;  // undefined: no KL term and no metric
  at::Tensor advantages;
  at::Tensor response_mask;             // for the diagnostics and the entropy
  at::Tensor final_response_mask;       // for the policy and KL terms
  at::Tensor is_weights{};              // importance weights of the policy term; undefined: 1
  std::vector<float> sample_weights{};  // [B] weights of the policy term (sample_weights.h); empty: 1
  std::vector<double> scores{};         // [B]; read by policy losses with needs_sign only
  at::Tensor positive_response_mask{};  // tokens of responses with score > 0; read only if positive_coef is not 0
};

/// Reduction of the policy term by a plug-in: from token losses [T] (with gradient) to this micro-batch's part of the
/// loss, 0-dim.
using PolicyReducer = std::function<LossResult(const at::Tensor& token_loss)>;

/// Returns the sum of these terms (coefficients and modes of `settings`):
///   term                                                                   mode           mask
///   policy_coef   * policy loss (policy.h) * is_weights * sample_weights   modes.policy   final_response_mask
///   kl_coef       * kl_term(log_probs - ref_log_probs, kl_penalty)         modes.kl       final_response_mask
///   -entropy_coef * entropy                                                modes.kl       response_mask
///   positive_coef * -log_probs (VAPO, Yue et al. 2025)                     modes.policy   positive_response_mask
/// reducer: if set, reduces the policy term instead of modes.policy.
/// The metric actor/entropy and those of the ratio have modes.diagnostics over response_mask.
/// Metrics: actor/{pg_loss,kl_loss,entropy,total_loss,approxkl,policykl,clipfrac,ppo_ratio_high_clipfrac,
/// ppo_ratio_low_clipfrac,ratio_mean}, actor/weighted_pg_loss with sample weights, actor/positive_loss if its
/// coefficient is not 0. pg_loss excludes sample weights, so `reducer` is called twice if there are any.
/// Throws UserError if a mask was not counted; Bug if ref_log_probs, entropy or positive_response_mask is missing but
/// the coefficient of its term is not 0.
LossResult actor_loss(const ActorInputs& inputs, const MiniBatchCounts& counts, const LossSettings& settings,
                      const PolicyReducer& reducer = {});

/// Return the rules of the token weights that each loss needs, so that the weights can be computed before and sent to
/// the device with the tokens (add_weights() in experience/batch.h).
std::vector<WeightRule> actor_weight_rules(const LossSettings& settings);
std::vector<WeightRule> critic_weight_rules(const LossSettings& settings);
std::vector<WeightRule> sft_weight_rules(const LossSettings& settings);

/// Inputs of critic_loss(); tensors are [T].
struct CriticInputs {
  TokenAxis axis;
  at::Tensor values;      // with gradient
  at::Tensor old_values;  // before the step
  at::Tensor returns;     // targets
  at::Tensor response_mask;
};

/// Returns the critic's loss: value_term() (terms.h) under modes.value over response_mask. Metrics
/// critic/{loss,clipfrac}; clipfrac has modes.diagnostics.
LossResult critic_loss(const CriticInputs& inputs, const MiniBatchCounts& counts, const LossSettings& settings);

/// Inputs of sft_loss() and distillation_loss(); tensors are [T].
struct SftInputs {
  TokenAxis axis;
  at::Tensor log_probs;  // with gradient
  at::Tensor labels_mask;
};

/// Returns the negative log-likelihood under modes.policy over labels_mask. Metric sft/loss.
LossResult sft_loss(const SftInputs& inputs, const MiniBatchCounts& counts, const LossSettings& settings);

/// Student and teacher distributions over the teacher's top-k tokens.
struct TaughtTokens {
  at::Tensor logits;   // [T, k] student logits of the teacher's top-k tokens, with gradient
  at::Tensor teacher;  // [T, k] teacher log-probs, normalised over these k tokens
};

/// Returns (1 - distill_loss_weight) * negative log-likelihood + distill_loss_weight * divergence_term() (terms.h) per
/// token, under modes.policy over labels_mask. Metrics distill/{loss,student_loss,distill_loss}.
LossResult distillation_loss(const SftInputs& inputs, const TaughtTokens& taught, const MiniBatchCounts& counts,
                             const LossSettings& settings, const DivergenceArgs& args);

}  // namespace roll
