#include "step/role_losses.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/error.h"
#include "loss/sample_weights.h"
#include "step/plugin_inputs.h"

namespace roll {

ActorLoss::ActorLoss(const RoleLossSettings& settings)
    : settings_(settings.built_in),
      loss_(open_plugin(settings.plugin, "actor_train.loss_func")),
      reducer_(open_plugin(settings.reducer, "actor_train.pg_loss_reducer")) {}

LossResult ActorLoss::operator()(const Experience& e, const TokenLogProbs& computed,
                                 const MiniBatchCounts& counts) const {
  // With one update per step, old log-probs are the current ones and need no pass.
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
                     .sample_weights = e.on_contexts(e.sample_weights),
                     .scores = e.scores_on_contexts(),
                     .positive_response_mask = e.positive_response_mask()},
                    counts, settings_, reducer);
}

Prepare weigh_samples(const StepFacts& step, const Experience& experience, const LossSettings& loss, Communicator& dp) {
  if (!loss.weighs_sequences()) return {};
  at::Tensor valid = at::zeros({step.num_sequences()}, at::kLong);
  const auto local_tokens = tokens_per_sequence(experience.final_response_mask(), experience.tokens.cu_seqlens);
  for (size_t b = 0; b < local_tokens.size(); ++b)
    valid.mutable_data_ptr<int64_t>()[experience.sequence_index[b]] = local_tokens[b];
  dp.all_reduce_sum(valid, "valid tokens of the sequences");
  return [&loss, &step, valid](Experience& part, const std::vector<int64_t>& mini_batch) {
    std::vector<int64_t> tokens;
    for (const int64_t s : mini_batch) tokens.push_back(valid.const_data_ptr<int64_t>()[s]);
    const auto weights =
        sample_weights(picked(column(step.responses, &ResponseFacts::difficulty), mini_batch), tokens, loss);
    std::map<int64_t, float> weight_by_sequence;
    for (size_t i = 0; i < mini_batch.size(); ++i) weight_by_sequence[mini_batch[i]] = weights[i];
    part.sample_weights.clear();
    for (const int64_t s : part.sequence_index) part.sample_weights.push_back(weight_by_sequence.at(s));
  };
}

CriticLoss::CriticLoss(const RoleLossSettings& settings)
    : settings_(settings.built_in), loss_(open_plugin(settings.plugin, "critic.loss_func")) {}

LossResult CriticLoss::operator()(const Experience& e, const at::Tensor& values, const MiniBatchCounts& counts) const {
  if (loss_) return call_plugin(*loss_, plugin_inputs(e, {{"values", values}}), counts, settings_.modes);
  return critic_loss({.axis = e.axis(),
                      .values = values,
                      .old_values = e.values,
                      .returns = e.returns,
                      .response_mask = e.response_mask()},
                     counts, settings_);
}

namespace {

RoleLoss make_actor_loss(const RoleLossSettings& settings) {
  return [loss = ActorLoss(settings)](const Experience& e, const Computed& computed, const MiniBatchCounts& counts) {
    return loss(e, computed.policy, counts);
  };
}

RoleLoss make_critic_loss(const RoleLossSettings& settings) {
  return [loss = CriticLoss(settings)](const Experience& e, const Computed& computed, const MiniBatchCounts& counts) {
    return loss(e, computed.values, counts);
  };
}

/// Loss of a trained role.
struct RoleLossKind {
  const char* role;
  RoleLoss (*make)(const RoleLossSettings& settings);
  std::vector<WeightRule> (*weight_rules)(const LossSettings& settings);
};
constexpr RoleLossKind kLosses[] = {{kPolicyRole, make_actor_loss, actor_weight_rules},
                                    {kCriticRole, make_critic_loss, critic_weight_rules}};

const RoleLossKind& find_loss(const std::string& role) {
  const auto* const found = std::ranges::find(kLosses, role, &RoleLossKind::role);
  ROLL_CHECK(found != std::end(kLosses), "each trained role has a loss");
  return *found;
}

}  // namespace

RoleLoss make_configured_loss(const std::string& role, const RoleLossSettings& settings) {
  return find_loss(role).make(settings);
}

std::vector<WeightRule> role_weight_rules(const std::string& role, const LossSettings& settings) {
  return find_loss(role).weight_rules(settings);
}

}  // namespace roll
