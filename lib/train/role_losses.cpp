#include "train/role_losses.h"

#include <ATen/ATen.h>

#include "loss/sample_weights.h"
#include "train/plugin_inputs.h"

namespace roll {

ActorLoss::ActorLoss(const Config& config)
    : config_(config),
      loss_(open_plugin(config.actor_train.loss_func, "actor_train.loss_func")),
      reducer_(open_plugin(config.actor_train.pg_loss_reducer, "actor_train.pg_loss_reducer")) {}

void ActorLoss::prepare(Experience& mini_batch) const {
  mini_batch.sample_weights =
      sample_weights(mini_batch.difficulties,
                     tokens_per_sequence(mini_batch.final_response_mask(), mini_batch.tokens.cu_seqlens), config_.loss);
}

LossResult ActorLoss::operator()(const Experience& e, const TokenLogProbs& computed,
                                 const MiniBatchCounts& counts) const {
  // One update per step needs no pass for old log-probs: they are the current ones.
  const at::Tensor old = e.old_log_probs.defined() ? e.old_log_probs : computed.log_probs.detach();
  const auto call = [&](const LossPlugin& plugin, const at::Tensor& pg_loss) {
    auto inputs = plugin_inputs(e, {{"log_probs", computed.log_probs},
                                    {"entropy", computed.entropy},
                                    {"old_log_probs", old},
                                    {"pg_loss", pg_loss}});
    return call_plugin(plugin, inputs, counts, config_.loss);
  };
  if (loss_) return call(*loss_, {});
  PolicyReducer reducer;
  if (reducer_) reducer = [&](const at::Tensor& pg_loss) { return call(*reducer_, pg_loss); };
  return actor_loss({.axis = e.axis(),
                     .log_probs = computed.log_probs,
                     .entropy = computed.entropy,
                     .old_log_probs = old,
                     .ref_log_probs = e.ref_log_probs,
                     .advantages = e.advantages,
                     .response_mask = e.response_mask(),
                     .final_response_mask = e.final_response_mask(),
                     .is_weights = e.is_weights,
                     .sample_weights = e.sample_weights,
                     .scores = e.scores,
                     .positive_response_mask = e.positive_response_mask()},
                    counts, config_.loss, config_.actor_train.policy, reducer);
}

CriticLoss::CriticLoss(const Config& config)
    : config_(config), loss_(open_plugin(config.critic.loss_func, "critic.loss_func")) {}

LossResult CriticLoss::operator()(const Experience& e, const at::Tensor& values, const MiniBatchCounts& counts) const {
  if (loss_) return call_plugin(*loss_, plugin_inputs(e, {{"values", values}}), counts, config_.loss);
  return critic_loss({.axis = e.axis(),
                      .values = values,
                      .old_values = e.values,
                      .returns = e.returns,
                      .response_mask = e.response_mask()},
                     counts, config_.loss);
}

}  // namespace roll
