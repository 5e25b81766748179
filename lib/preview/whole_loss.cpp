#include "preview/whole_loss.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "dist/single.h"
#include "experience/build.h"
#include "loss/sample_weights.h"
#include "loss/terms.h"
#include "step/step_index.h"
#include "step/step_settings.h"
#include "step/updates.h"

namespace roll {

namespace {

Experience make_responses(std::vector<RolloutRecord> records) {
  const std::unique_ptr<Communicator> communicator = make_single_communicator({});
  const StepIndex index = make_step_index(records, *communicator, /*with_parts=*/true);
  return make_experience(records, index.facts, first_numbers(index.facts.num_sequences()));
}

Experience in_float64(Experience e) {
  for (const auto tensor : Experience::kTokenTensors)
    if ((e.*tensor).defined()) e.*tensor = (e.*tensor).to(at::kDouble);
  for (auto& [name, mask] : e.masks) mask = mask.to(at::kDouble);
  return e;
}

at::Tensor make_leaf(const at::Tensor& table) {
  return table.to(at::kDouble, false, true).requires_grad_();
}

LossAndGradient backward(const LossResult& result, const std::vector<at::Tensor>& leaves) {
  result.loss.backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& table : leaves)
    gradients.push_back(table.grad().defined() ? table.grad() : at::zeros_like(table));
  return {result.loss.item<double>(), at::cat(gradients)};
}

RoleLossSettings critic_settings(const Config& config) {
  const StepSettings settings = step_settings(config);
  const TrainingSettings* const critic = settings.find_training(kCriticRole);
  return critic ? critic->loss : RoleLossSettings();
}

}  // namespace

WholeLoss::WholeLoss(const LossStep& step, const Config& config)
    : tables_(step.tables),
      actor_loss_(step_settings(config).policy().loss),
      critic_loss_(critic_settings(config)),
      num_groups_(1 + step.records.back().group_index),
      step_(make_responses(step.records)) {
  step_.old_log_probs = tables_.old_log_probs;
  if (config.experience.adv_estimator->reads_energies) step_.energies = tables_.energies;
  if (config.uses_reference()) step_.ref_log_probs = tables_.ref_log_probs;
  if (config.distils()) {
    // In the step, every teacher teaches all sequences, and all use the same table.
    double kl_coef = 0;
    for (const auto& [name, teacher] : config.teacher) kl_coef += teacher.opd_kl_coef.value_or(1);
    const at::Tensor log_ratios =
        (tables_.old_log_probs - tables_.ref_log_probs).masked_fill(step_.response_mask().eq(0), 0);
    step_.teacher_kl = kl_term(log_ratios, config.experience.kl_penalty) * kl_coef;
  }
  if (config.uses_critic()) step_.values = tables_.old_values;
  ExperienceState state(config.experience);
  complete_experience(step_, config.experience, num_groups_, state);
}

Experience WholeLoss::select_batch(const std::vector<int64_t>& mini_batch) const {
  Experience e = in_float64(select(step_, mini_batch));
  if (e.final_response_mask().sum().item<double>() == 0)
    throw user_error(
        "none of the {} sequences has a token in final_response_mask, so there is no loss to check; use other "
        "rollouts, or check max_len_mask, difficulty_mask and the filters",
        e.num_sequences());
  return e;
}

MiniBatchCounts WholeLoss::counts(const Experience& mini_batch, const LossSettings& loss) const {
  return count_masks(mini_batch, loss.counted_masks, num_groups_);
}

LossAndGradient WholeLoss::actor(const std::vector<int64_t>& mini_batch) const {
  Experience e = select_batch(mini_batch);
  const LossSettings& loss = actor_loss_.settings();
  e.sample_weights = sample_weights(column(e.responses, &ResponseFacts::difficulty),
                                    tokens_per_sequence(e.final_response_mask(), e.tokens.cu_seqlens), loss);
  const std::vector<at::Tensor> tables = {make_leaf(tables_.log_probs), make_leaf(tables_.entropy)};
  const auto computed = [&](const at::Tensor& table) {
    return table.index_select(0, e.tokens.ids) * e.response_mask();
  };
  return backward(actor_loss_(e, {computed(tables[0]), computed(tables[1])}, counts(e, loss)), tables);
}

LossAndGradient WholeLoss::critic(const std::vector<int64_t>& mini_batch) const {
  const Experience e = select_batch(mini_batch);
  const at::Tensor values = make_leaf(tables_.values);
  return backward(critic_loss_(e, values.index_select(0, e.tokens.ids), counts(e, critic_loss_.settings())), {values});
}

}  // namespace roll
