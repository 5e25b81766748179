// Built-in losses of one micro-batch, for the trainers: terms (terms.h) summed with token weights of the whole
// mini-batch (aggregate.h). The loss and every metric are *sums*: adding them over micro-batches and ranks gives the
// mini-batch's values.
// Legend: B sequences, T packed tokens. Index t of every [T] tensor refers to token t + 1.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "loss/aggregate.h"
#include "loss/settings.h"
#include "track/metrics.h"

namespace roll {

/// Metric values of a micro-batch still on the device, and the function that adds them to Metrics once fetched.
struct Deferred {
  at::Tensor numbers;                                                      // [n]
  std::function<void(const at::Tensor& on_host, Metrics& metrics)> add{};  // on_host: [n] float64
};

struct LossResult {
  at::Tensor loss;                      // 0-dim float32 with gradient
  Metrics metrics;                      // names end in @sum
  std::vector<Deferred> deferred = {};  // metrics not yet fetched from the device
};

/// Returns all metrics of a result, deferred ones included. Waits for the device.
Metrics all_metrics(const LossResult& result);

/// Returns named 0-dim sums as deferred metrics. Names end in @sum.
Deferred deferred_sums(std::vector<std::string> names, const std::vector<at::Tensor>& sums);

struct ActorInputs {
  TokenAxis axis;
  at::Tensor log_probs;      // with gradient
  at::Tensor entropy;        // undefined: no entropy term and no metric
  at::Tensor old_log_probs;  // undefined: log_probs, detached (one update per step)
  at::Tensor ref_log_probs;  // undefined: no KL term and no metric
  at::Tensor advantages;
  at::Tensor response_mask;             // for the diagnostics and the entropy
  at::Tensor final_response_mask;       // for the policy and KL terms
  at::Tensor is_weights{};              // importance weights of the policy term; undefined: 1
  std::vector<float> sample_weights{};  // [B] weights of the policy term (sample_weights.h); empty: 1
  std::vector<double> scores{};         // [B]; read by policy losses with needs_sign
  at::Tensor positive_response_mask{};  // tokens of responses with score > 0, if positive_loss_coef > 0
};

/// Reduction of the policy term by a plug-in: token losses [T] with gradient -> this micro-batch's part of the loss,
/// 0-dim.
using PolicyReducer = std::function<LossResult(const at::Tensor& token_loss)>;

/// Returns rl_loss_coef * (policy term + kl_loss_coef * KL(kl_loss_penalty, ref)) - entropy_loss_coef * entropy +
/// positive_loss_coef * negative log-likelihood of responses with score > 0 (VAPO, Yue et al. 2025). The policy term is
/// that of policy.h times is_weights and sample_weights, reduced under the configured mode or by `reducer`. The last
/// term has the policy term's mode, over its own tokens. The entropy term has the KL's mode, over response_mask; its
/// metric has the diagnostics' mode.
/// Metrics: actor/{pg_loss,kl_loss,entropy,total_loss,approxkl,policykl,clipfrac,ppo_ratio_high_clipfrac,
/// ppo_ratio_low_clipfrac,ratio_mean}, weighted_pg_loss with sample weights, positive_loss if its coefficient is not 0.
/// pg_loss excludes sample weights, so `reducer` is called twice if there are any.
/// UserError: a mask was not counted. Bug: ref_log_probs or entropy is missing but its coefficient is not 0.
LossResult actor_loss(const ActorInputs& inputs, const MiniBatchCounts& counts, const LossSettings& settings,
                      const PolicyReducer& reducer = {});

/// Return the weights that each loss needs, so that they can be sent to the device with the tokens.
std::vector<WeightRule> actor_weight_rules(const LossSettings& settings);
std::vector<WeightRule> critic_weight_rules(const LossSettings& settings);
std::vector<WeightRule> sft_weight_rules(const LossSettings& settings);

struct CriticInputs {
  TokenAxis axis;
  at::Tensor values;  // with gradient
  at::Tensor old_values;
  at::Tensor returns;
  at::Tensor response_mask;
};

/// Returns the value loss. Metrics critic/{loss,clipfrac}.
LossResult critic_loss(const CriticInputs& inputs, const MiniBatchCounts& counts, const LossSettings& settings);

struct SftInputs {
  TokenAxis axis;
  at::Tensor log_probs;  // with gradient
  at::Tensor labels_mask;
};

/// Returns the negative log-likelihood under the policy's aggregation mode. Metric sft/loss.
LossResult sft_loss(const SftInputs& inputs, const MiniBatchCounts& counts, const LossSettings& settings);

/// Student and teacher distributions over the teacher's top-k tokens.
struct TaughtTokens {
  at::Tensor logits;   // [T, k] student logits of the teacher's top-k tokens, with gradient
  at::Tensor teacher;  // [T, k] teacher log-probs, normalised over these k tokens
};

/// Returns (1 - distill_loss_weight) * negative log-likelihood + distill_loss_weight * divergence_term per token, under
/// the policy's aggregation mode. Metrics distill/{loss,student_loss,distill_loss}.
LossResult distillation_loss(const SftInputs& inputs, const TaughtTokens& taught, const MiniBatchCounts& counts,
                             const LossSettings& settings, const DivergenceArgs& args);

}  // namespace roll
