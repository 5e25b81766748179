#include "step/step_models.h"

#include <ATen/ATen.h>

#include "model/experts.h"

namespace roll {

namespace {

ForwardPass log_prob_forward(const Transformer& model, const ModelSettings& settings, bool with_energies) {
  return forward_pass(model, [&model, temperature = settings.temperature, mask = settings.learnt_mask,
                              with_energies](const Batch& micro_batch) {
    const TokenLogProbs found = token_log_probs(model, micro_batch.tokens, temperature, /*with_entropy=*/false,
                                                /*recompute=*/{}, micro_batch.host_mask(mask), with_energies);
    return with_energies && found.energy.defined() ? at::stack({found.log_probs, found.energy}) : found.log_probs;
  });
}

/// Returns [2k, T]: log-probs among a token's top k, then their ids.
ForwardPass top_token_forward(const Transformer& model, const TopTokens& top, const std::string& mask) {
  return forward_pass(model, [&model, top, mask](const Batch& micro_batch) -> at::Tensor {
    const auto [logits, ids] =
        token_top_logits(model, micro_batch.tokens, top.count, top.vocabulary, micro_batch.host_mask(mask));
    if (!logits.defined()) return {};
    const at::Tensor log_probs = at::log_softmax(logits / top.temperature, -1);
    return at::cat({log_probs, ids.to(log_probs.scalar_type())}, 1).t();
  });
}

ForwardPass value_forward(const ValueModel& model) {
  return forward_pass(model, [&model](const Batch& micro_batch) { return model.values(micro_batch.tokens); });
}

std::function<Computed(const Experience&)> training_forward(const Transformer& model, const ModelSettings& settings,
                                                            const TrainedModelSettings& training) {
  return [&model, temperature = settings.temperature, mask = settings.learnt_mask,
          training](const Experience& e) -> Computed {
    PackedTokens tokens = with_routers(e.tokens, model.spec(), training.routers);
    tokens.trains_mtp = training.mtp_loss_coef > 0;
    return {.policy = token_log_probs(model, tokens, temperature, training.with_entropy, training.recomputes,
                                      e.host_mask(mask), /*with_energy=*/false, e.taught_tokens())};
  };
}

std::function<Computed(const Experience&)> training_forward(const ValueModel& model, const ModelSettings&,
                                                            const TrainedModelSettings& training) {
  return [&model, training](const Experience& e) -> Computed {
    return {.values = model.values(e.tokens, training.recomputes)};
  };
}

template <class Model>
Trained trained(Model& model, Mesh& mesh, const ModelSettings& settings, const TrainedModelSettings& training) {
  return {model.trained(),
          {mesh, model.parts()},
          training_forward(model, settings, training),
          empty_pass(model.backbone(), training.recomputes, training.gathers, training.mtp_loss_coef > 0),
          balancing(model.backbone(), training.routers, mesh.dp()),
          [&model](std::shared_ptr<LayerStore> store) { model.backbone().use_store(std::move(store)); }};
}

}  // namespace

StepModels step_models(Roles& roles, const RoleMeshes& meshes, at::Device device, const ModelSettings& settings) {
  StepModels models{.device = device};
  for (auto& [name, role] : roles.all) {
    ModelInStep& model = models.roles[name];
    model.spec = role.spec;
    const auto top = settings.top_tokens.find(name);
    if (role.transformer)
      model.forward =
          top != settings.top_tokens.end()
              ? top_token_forward(*role.transformer, top->second, settings.learnt_mask)
              : log_prob_forward(*role.transformer, settings, settings.with_energies && name == kPolicyRole);
    if (role.value_model) model.forward = value_forward(*role.value_model);
    if (role.offloaded) model.bring_weights = [&weights = *role.offloaded] { return weights.bring_to_device(); };
    if (const auto training = settings.trained.find(name); training != settings.trained.end())
      role.with_model([&, &mesh = meshes.of(name)](auto& role_model) {
        model.trained.emplace(trained(role_model, mesh.mesh(), settings, training->second));
      });
  }
  return models;
}

}  // namespace roll
