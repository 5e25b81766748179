// The built-in losses of one micro-batch: terms (terms.h) summed under weights of the whole mini-batch (aggregate.h).
// The result's loss and every metric are *sums*: added over micro-batches and ranks they are the mini-batch's.
// Legend: B sequences, T packed tokens. Every [T] tensor is in the program's alignment: index t is about token t + 1.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "loss/aggregate.h"
#include "loss/settings.h"
#include "track/metrics.h"

namespace roll {

/// Numbers of a micro-batch that are still on its device, and what becomes of them.
struct Deferred {
  at::Tensor numbers;                                                      // [n]
  std::function<void(const at::Tensor& on_host, Metrics& metrics)> add{};  // on_host: [n] float64
};

struct LossResult {
  at::Tensor loss;                      // 0-dim float32 with gradient
  Metrics metrics;                      // names end in @sum
  std::vector<Deferred> deferred = {};  // the rest of the metrics
};

/// All metrics of a result. Waits for its device.
Metrics all_metrics(const LossResult& result);

/// Named 0-dim sums as metrics that are fetched later. Names end in @sum.
Deferred deferred_sums(std::vector<std::string> names, const std::vector<at::Tensor>& sums);

struct ActorInputs {
  TokenAxis axis;
  at::Tensor log_probs;      // with gradient
  at::Tensor entropy;        // undefined: no entropy term, no metric
  at::Tensor old_log_probs;  // undefined: log_probs, detached (exactly one update per step)
  at::Tensor ref_log_probs;  // undefined: no KL term, no metric
  at::Tensor advantages;
  at::Tensor response_mask;             // of the diagnostics and the entropy
  at::Tensor final_response_mask;       // of the policy and KL terms
  at::Tensor is_weights{};              // importance weights on the policy term; undefined: 1
  std::vector<float> sample_weights{};  // [B] on the policy term (sample_weights.h); empty: 1
  std::vector<double> scores{};         // [B]; of kinds that need their signs
  at::Tensor positive_response_mask{};  // of the likelihood of right responses, where positive_loss_coef is above 0
};

/// The policy term's own reduction (a plug-in): token losses with gradient -> the micro-batch's part of the loss,
/// 0-dim.
using PolicyReducer = std::function<LossResult(const at::Tensor& token_loss)>;

/// rl_loss_coef * (policy term + kl_loss_coef * KL(kl_loss_penalty, ref)) - entropy_loss_coef * entropy +
/// positive_loss_coef * negative log-likelihood of right responses (VAPO, Yue et al. 2025), which is aggregated as the
/// policy term is, over the tokens of right responses alone. The entropy is aggregated as the KL is, over
/// response_mask; its metric as the diagnostics are. The policy term is that of policy.h times is_weights and
/// sample_weights, under the configured mode or, when given, by `reducer` (which is called twice where sample weights
/// are on: for the loss, and without them for the metric). Metrics
/// actor/{pg_loss,kl_loss,entropy,total_loss,approxkl,policykl,clipfrac,ppo_ratio_high_clipfrac,
/// ppo_ratio_low_clipfrac,ratio_mean}, weighted_pg_loss where weights are on, positive_loss where it has a weight;
/// pg_loss is without sample weights.
/// UserError: a mask that was not counted.
/// Bug: a KL coefficient without ref_log_probs, an entropy coefficient without entropy.
LossResult actor_loss(const ActorInputs& inputs, const MiniBatchCounts& counts, const LossSettings& settings,
                      const PolicyReducer& reducer = {});

/// The weights that these losses ask for, so that they may come to a device with the tokens.
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

/// Metrics critic/{loss,clipfrac}.
LossResult critic_loss(const CriticInputs& inputs, const MiniBatchCounts& counts, const LossSettings& settings);

struct SftInputs {
  TokenAxis axis;
  at::Tensor log_probs;  // with gradient
  at::Tensor labels_mask;
};

/// Negative log-likelihood under the policy mode. Metric sft/loss.
LossResult sft_loss(const SftInputs& inputs, const MiniBatchCounts& counts, const LossSettings& settings);

/// What a teacher says of the same tokens.
struct TaughtTokens {
  at::Tensor logits;   // [T, k] the student's, of the teacher's likeliest tokens; with gradient
  at::Tensor teacher;  // [T, k] the teacher's log-probs of these, among them
};

/// (1 - distill_loss_weight) * negative log-likelihood + distill_loss_weight * divergence_term, token by token, under
/// the policy mode. Metrics distill/{loss,student_loss,distill_loss}.
LossResult distillation_loss(const SftInputs& inputs, const TaughtTokens& taught, const MiniBatchCounts& counts,
                             const LossSettings& settings, const DivergenceArgs& args);

}  // namespace roll
