#include "train/role_losses.h"

#include <ATen/ATen.h>

#include "loss/sample_weights.h"
#include "train/plugin_inputs.h"

namespace roll {

ActorLoss::ActorLoss(const Config& config)
    : settings_(loss_settings(config.loss, config.actor_train.policy)),
      loss_(open_plugin(config.actor_train.loss_func, "actor_train.loss_func")),
      reducer_(open_plugin(config.actor_train.pg_loss_reducer, "actor_train.pg_loss_reducer")) {}

void ActorLoss::prepare(Experience& mini_batch) const {
  mini_batch.sample_weights =
      sample_weights(mini_batch.difficulties,
                     tokens_per_sequence(mini_batch.final_response_mask(), mini_batch.tokens.cu_seqlens), settings_);
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
    return call_plugin(plugin, inputs, counts, settings_.modes);
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
                    counts, settings_, reducer);
}

CriticLoss::CriticLoss(const Config& config)
    : settings_(loss_settings(config.loss)), loss_(open_plugin(config.critic.loss_func, "critic.loss_func")) {}

LossResult CriticLoss::operator()(const Experience& e, const at::Tensor& values, const MiniBatchCounts& counts) const {
  if (loss_) return call_plugin(*loss_, plugin_inputs(e, {{"values", values}}), counts, settings_.modes);
  return critic_loss({.axis = e.axis(),
                      .values = values,
                      .old_values = e.values,
                      .returns = e.returns,
                      .response_mask = e.response_mask()},
                     counts, settings_);
}

}  // namespace roll
