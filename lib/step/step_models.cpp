#include "step/step_models.h"

#include <ATen/ATen.h>

#include "model/experts.h"

namespace roll {

namespace {

/// Of a model that the policy's sampler does not speak for: its own routers choose.
PackedTokens freely_routed(PackedTokens tokens) {
  tokens.routed_experts.reset();
  return tokens;
}

ForwardPass log_probs_of(const Transformer& model, double temperature, bool with_energies = false) {
  return forward_pass(model, [&model, temperature, with_energies](const Batch& micro_batch) {
    const at::Tensor wanted = micro_batch.host_mask("response_mask");
    const TokenLogProbs found = token_log_probs(model, micro_batch.tokens, temperature, /*with_entropy=*/false,
                                                /*recompute=*/{}, wanted, with_energies);
    return with_energies && found.energy.defined() ? at::stack({found.log_probs, found.energy}) : found.log_probs;
  });
}

ForwardPass values_of(const ValueModel& model) {
  return forward_pass(model, [&model](const Batch& micro_batch) { return model.values(micro_batch.tokens); });
}

std::function<Computed(const Experience&)> training_forward(const Transformer& model, double temperature,
                                                            const TrainedModelSettings& how) {
  return [&model, temperature, how](const Experience& e) -> Computed {
    return {.policy = token_log_probs(model, with_routers(e.tokens, model.spec(), how.routers), temperature,
                                      /*with_entropy=*/true, how.recomputes, e.host_mask("response_mask"))};
  };
}

std::function<Computed(const Experience&)> training_forward(const ValueModel& model, double,
                                                            const TrainedModelSettings& how) {
  return [&model, how](const Experience& e) -> Computed {
    return {.values = model.values(freely_routed(e.tokens), how.recomputes)};
  };
}

template <class Model>
Trained trained(const Model& model, Mesh& mesh, double temperature, const TrainedModelSettings& how) {
  return {model.trained(),
          {mesh, model.parts()},
          training_forward(model, temperature, how),
          empty_pass(model.backbone(), how.recomputes, how.gathers),
          balancing(model.backbone(), how.routers, mesh.dp())};
}

}  // namespace

StepModels step_models(Roles& roles, const RoleMeshes& meshes, at::Device device, const ModelSettings& settings) {
  StepModels models{.device = device};
  for (auto& [name, role] : roles.all) {
    ModelInStep& model = models.roles[name];
    model.spec = role.spec;
    if (role.transformer)
      model.forward =
          log_probs_of(*role.transformer, settings.temperature, settings.with_energies && name == kPolicyRole);
    if (role.value_model) model.forward = values_of(*role.value_model);
    if (role.waiting) model.visit = [&waiting = *role.waiting] { return waiting.visit(); };
    if (const auto how = settings.trained.find(name); how != settings.trained.end())
      role.with_model([&, &mesh = meshes.of(name)](const auto& own) {
        model.trained.emplace(trained(own, mesh.mesh(), settings.temperature, how->second));
      });
  }
  return models;
}

}  // namespace roll
