#include "loss/losses.h"

#include <ATen/ATen.h>

#include <vector>

#include "base/error.h"
#include "device/transfers.h"
#include "loss/policy.h"
#include "loss/terms.h"

namespace roll {
namespace {

/// Sums a micro-batch's metrics in float64, on its device.
class MetricSums {
 public:
  /// Adds the sum of `token_values` [T] times `weights` [T].
  void add(const char* name, const at::Tensor& token_values, const at::Tensor& weights) {
    const at::Tensor values = token_values.detach().to(at::kDouble);
    add(name, weighted_sum(values, weights));
  }
  void add(const char* name, const at::Tensor& sum) {
    names_.push_back(std::string(name) + "@sum");
    sums_.push_back(sum.to(at::kDouble));
  }
  const at::Tensor& last() const { return sums_.back(); }

  Deferred result() const { return deferred_sums(names_, sums_); }

 private:
  std::vector<std::string> names_;
  std::vector<at::Tensor> sums_;
};

/// Returns a - b inside the mask, else 0: values outside must not overflow in exp(), which would make gradients NaN.
at::Tensor masked_difference(const at::Tensor& a, const at::Tensor& b, const at::Tensor& mask) {
  return at::where(mask.ne(0), a - b, at::zeros({}, a.options()));
}

at::Tensor policy_ratio(const at::Tensor& log_ratio, const ActorInputs& in, const LossSettings& settings) {
  switch (settings.importance_sampling) {
    case ImportanceSampling::kToken:
      return token_ratio(log_ratio);
    case ImportanceSampling::kSequence:
      return sequence_ratio(log_ratio, in.response_mask, in.axis.cu_seqlens, in.axis.bounds);
    case ImportanceSampling::kManualOnPolicy:
      return token_ratio(log_ratio - log_ratio.detach());
  }
  throw Bug("an importance sampling without its ratio");
}

/// Weight rules of the loss terms.
struct LossRules {
  WeightRule policy, kl, entropy, positive, value, labels, diagnostics;
};

LossRules loss_rules(const LossModes& modes) {
  return {.policy = {"final_response_mask", modes.policy, modes.divisor},
          .kl = {"final_response_mask", modes.kl, modes.divisor},
          .entropy = {"response_mask", modes.kl, modes.divisor},
          .positive = {"positive_response_mask", modes.policy, modes.divisor},
          .value = {"response_mask", modes.value, modes.divisor},
          .labels = {"labels_mask", modes.policy, modes.divisor},
          .diagnostics = {"response_mask", modes.diagnostics}};
}

at::Tensor weights_by(const WeightRule& rule, const at::Tensor& mask, const TokenAxis& axis,
                      const MiniBatchCounts& counts) {
  return token_weights(mask, axis, rule.mode, counts.at(rule.mask), rule.divisor);
}

struct Policy {
  at::Tensor log_ratio, ratio;
  PolicyLoss terms;
};

Policy compute_policy(const ActorInputs& in, const LossSettings& settings) {
  const at::Tensor old = in.old_log_probs.defined() ? in.old_log_probs : in.log_probs.detach();
  Policy policy;
  policy.log_ratio = masked_difference(in.log_probs, old, in.response_mask);
  policy.ratio = policy_ratio(policy.log_ratio, in, settings);
  PolicyInputs inputs{in.log_probs,     policy.log_ratio,   policy.ratio,  in.advantages,
                      in.response_mask, in.axis.cu_seqlens, in.axis.bounds};
  if (settings.policy.pg_variant->needs_sign)
    inputs.is_positive = spread(are_positive(in.scores), in.axis, in.log_probs.device());
  policy.terms = settings.policy.pg_variant->compute(inputs, settings);
  if (in.is_weights.defined()) policy.terms.loss = policy.terms.loss * in.is_weights;
  return policy;
}

void add_ratio_metrics(MetricSums& sums, const Policy& policy, const at::Tensor& weights) {
  const at::Tensor d = policy.log_ratio.detach();
  sums.add("actor/approxkl", d.square() * 0.5, weights);
  sums.add("actor/policykl", d, weights);
  sums.add("actor/ratio_mean", policy.ratio, weights);
  sums.add("actor/clipfrac", policy.terms.clipped, weights);
  sums.add("actor/ppo_ratio_high_clipfrac", policy.terms.above, weights);
  sums.add("actor/ppo_ratio_low_clipfrac", policy.terms.below, weights);
}

/// Total loss: float32 with its graph for training, float64 for the metric of the same name.
class Total {
 public:
  explicit Total(MetricSums& sums) : sums_(sums) {}
  void add(const char* name, const at::Tensor& token_loss, const at::Tensor& weights, double coefficient) {
    sums_.add(name, token_loss, weights);
    if (coefficient != 0) add_part(weighted_sum(token_loss, weights) * coefficient, sums_.last() * coefficient);
  }
  /// Adds a term that has no metric or a metric with other weights.
  void add(const at::Tensor& token_loss, const at::Tensor& weights, double coefficient) {
    add_part(weighted_sum(token_loss, weights) * coefficient,
             weighted_sum(token_loss.detach().to(at::kDouble), weights) * coefficient);
  }
  /// Adds a term that is already reduced.
  void add_part(const at::Tensor& loss, const at::Tensor& metric) {
    loss_ = loss_.defined() ? loss_ + loss : loss;
    metric_ = metric_.defined() ? metric_ + metric : metric;
  }
  const at::Tensor& loss() const { return loss_; }
  const at::Tensor& metric() const { return metric_; }

 private:
  MetricSums& sums_;
  at::Tensor loss_, metric_;
};

/// Adds the policy term. actor/pg_loss excludes sample weights, so that runs with and without them are comparable.
void add_policy(const Policy& policy, const ActorInputs& in, const at::Tensor& weights, double coefficient,
                const PolicyReducer& reducer, MetricSums& sums, Total& total, Metrics& extra) {
  const at::Tensor& token_loss = policy.terms.loss;
  at::Tensor factors;
  if (!in.sample_weights.empty()) factors = spread(in.sample_weights, in.axis, weights.device());
  if (reducer) {
    LossResult reduced = reducer(token_loss);
    sums.add("actor/pg_loss", reduced.loss.detach());
    if (factors.defined()) {
      reduced = reducer(token_loss * factors);
      sums.add("actor/weighted_pg_loss", reduced.loss.detach());
    }
    if (coefficient != 0) total.add_part(reduced.loss * coefficient, sums.last() * coefficient);
    return extra.merge(all_metrics(reduced));
  }
  if (!factors.defined()) return total.add("actor/pg_loss", token_loss, weights, coefficient);
  sums.add("actor/pg_loss", token_loss, weights);
  total.add("actor/weighted_pg_loss", token_loss, weights * factors, coefficient);
}

void add_positive(const ActorInputs& in, const MiniBatchCounts& counts, const LossSettings& settings, Total& total) {
  if (settings.positive_coef == 0) return;
  ROLL_CHECK(in.positive_response_mask.defined(), "positive_loss_coef needs the tokens of right responses");
  const at::Tensor weights =
      weights_by(loss_rules(settings.modes).positive, in.positive_response_mask, in.axis, counts);
  total.add("actor/positive_loss", -in.log_probs, weights, settings.positive_coef);
}

void check_actor_inputs(const ActorInputs& in, const LossSettings& settings) {
  ROLL_CHECK(in.ref_log_probs.defined() || settings.kl_coef == 0, "a KL in the loss needs the reference's log-probs");
  ROLL_CHECK(in.entropy.defined() || settings.entropy_coef == 0, "entropy_loss_coef needs the entropy");
}

}  // namespace

Metrics all_metrics(const LossResult& result) {
  std::vector<at::Tensor> numbers;
  for (const Deferred& deferred : result.deferred) numbers.push_back(deferred.numbers);
  Metrics metrics = result.metrics;
  if (numbers.empty()) return metrics;
  const std::vector<at::Tensor> on_host = fetch_values(numbers);
  for (size_t i = 0; i < on_host.size(); ++i) result.deferred[i].add(on_host[i], metrics);
  return metrics;
}

Deferred deferred_sums(std::vector<std::string> names, const std::vector<at::Tensor>& sums) {
  return {at::stack(sums), [names = std::move(names)](const at::Tensor& on_host, Metrics& metrics) {
            for (size_t i = 0; i < names.size(); ++i)
              metrics.add(names[i], on_host[static_cast<int64_t>(i)].item<double>());
          }};
}

LossResult actor_loss(const ActorInputs& in, const MiniBatchCounts& counts, const LossSettings& settings,
                      const PolicyReducer& reducer) {
  check_actor_inputs(in, settings);
  const LossRules rules = loss_rules(settings.modes);
  const at::Tensor policy_weights = weights_by(rules.policy, in.final_response_mask, in.axis, counts);
  const at::Tensor diagnostics = weights_by(rules.diagnostics, in.response_mask, in.axis, counts);
  const Policy policy = compute_policy(in, settings);
  MetricSums sums;
  Total total(sums);
  Metrics metrics;
  add_policy(policy, in, policy_weights, settings.policy_coef, reducer, sums, total, metrics);
  if (in.ref_log_probs.defined()) {
    const at::Tensor d = masked_difference(in.log_probs, in.ref_log_probs, in.response_mask);
    total.add("actor/kl_loss", kl_term(d, settings.kl_penalty),
              weights_by(rules.kl, in.final_response_mask, in.axis, counts), settings.kl_coef);
  }
  if (in.entropy.defined()) sums.add("actor/entropy", in.entropy, diagnostics);
  if (settings.entropy_coef != 0)
    total.add(in.entropy, weights_by(rules.entropy, in.response_mask, in.axis, counts), -settings.entropy_coef);
  add_positive(in, counts, settings, total);
  add_ratio_metrics(sums, policy, diagnostics);
  // With all coefficients 0 the loss still needs a graph: every rank must run backward.
  const at::Tensor loss = total.loss().defined() ? total.loss() : weighted_sum(policy.terms.loss, policy_weights) * 0;
  sums.add("actor/total_loss", total.metric().defined() ? total.metric() : loss.detach());
  return {loss, metrics, {sums.result()}};
}

std::vector<WeightRule> actor_weight_rules(const LossSettings& settings) {
  const LossRules term_rules = loss_rules(settings.modes);
  std::vector<WeightRule> rules = {term_rules.policy, term_rules.diagnostics};
  if (term_rules.kl.mode != term_rules.policy.mode) rules.push_back(term_rules.kl);
  if (settings.entropy_coef != 0) rules.push_back(term_rules.entropy);
  if (settings.positive_coef != 0) rules.push_back(term_rules.positive);
  return rules;
}

std::vector<WeightRule> critic_weight_rules(const LossSettings& settings) {
  const LossRules term_rules = loss_rules(settings.modes);
  return {term_rules.value, term_rules.diagnostics};
}

std::vector<WeightRule> sft_weight_rules(const LossSettings& settings) {
  return {loss_rules(settings.modes).labels};
}

LossResult critic_loss(const CriticInputs& in, const MiniBatchCounts& counts, const LossSettings& settings) {
  const ValueTerm term = value_term(in.values, in.old_values, in.returns, settings.value_clip);
  const LossRules rules = loss_rules(settings.modes);
  const auto weights = [&](const WeightRule& rule) { return weights_by(rule, in.response_mask, in.axis, counts); };
  MetricSums sums;
  Total total(sums);
  total.add("critic/loss", term.loss, weights(rules.value), 1);
  sums.add("critic/clipfrac", term.clipped, weights(rules.diagnostics));
  return {total.loss(), {}, {sums.result()}};
}

LossResult sft_loss(const SftInputs& in, const MiniBatchCounts& counts, const LossSettings& settings) {
  const at::Tensor weights = weights_by(loss_rules(settings.modes).labels, in.labels_mask, in.axis, counts);
  MetricSums sums;
  Total total(sums);
  total.add("sft/loss", -in.log_probs, weights, 1);
  return {total.loss(), {}, {sums.result()}};
}

LossResult distillation_loss(const SftInputs& in, const TaughtTokens& taught, const MiniBatchCounts& counts,
                             const LossSettings& settings, const DivergenceArgs& args) {
  const at::Tensor weights = weights_by(loss_rules(settings.modes).labels, in.labels_mask, in.axis, counts);
  MetricSums sums;
  Total total(sums);
  total.add("distill/student_loss", -in.log_probs, weights, 1 - args.distill_loss_weight);
  total.add("distill/distill_loss", divergence_term(taught.logits, taught.teacher, args), weights,
            args.distill_loss_weight);
  sums.add("distill/loss", total.metric());
  return {total.loss(), {}, {sums.result()}};
}

}  // namespace roll
