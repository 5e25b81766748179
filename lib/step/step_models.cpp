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
  ForwardPass pass = [&model, temperature, with_energies](const Batch& micro_batch) {
    const at::Tensor wanted = micro_batch.host_mask("response_mask");
    const TokenLogProbs found = token_log_probs(model, micro_batch.tokens, temperature, /*with_entropy=*/false,
                                                /*recompute=*/{}, wanted, with_energies);
    return with_energies && found.energy.defined() ? at::stack({found.log_probs, found.energy}) : found.log_probs;
  };
  pass.empty_pass = empty_pass(model.backbone(), {});
  pass.stage = model.parallel().stage;
  return pass;
}

}  // namespace

StepModels step_models(Roles& roles, const RoleMeshes& meshes, at::Device device, const ModelSettings& settings) {
  StepModels models{.device = device,
                    .policy_spec = roles.policy_spec,
                    .critic_spec = roles.critic_spec,
                    .reference_specs = roles.reference_specs};
  for (auto& waiting : roles.waiting)
    models.reference_visits.push_back(waiting ? [&waiting] { return waiting->visit(); } : Visit());
  for (const auto& reference : roles.references)
    models.references.push_back(reference ? log_probs_of(*reference, settings.temperature) : ForwardPass());
  if (roles.actor) {
    models.old_log_probs = log_probs_of(*roles.actor, settings.temperature, settings.with_energies);
    const auto forward = [&model = *roles.actor, settings](const Experience& e) {
      return token_log_probs(model, with_routers(e.tokens, model.spec(), settings.routers), settings.temperature,
                             /*with_entropy=*/true, settings.actor_recomputes, e.host_mask("response_mask"));
    };
    models.actor.emplace(
        TrainedPolicy{roles.actor->trained(),
                      {meshes.actor.mesh(), roles.actor->parts()},
                      forward,
                      empty_pass(roles.actor->backbone(), settings.actor_recomputes, settings.actor_gathers),
                      balancing(roles.actor->backbone(), settings.routers, meshes.actor.mesh().dp())});
  }
  if (roles.critic) {
    models.values = [&model = *roles.critic](const Batch& part) { return model.values(part.tokens); };
    models.values.empty_pass = empty_pass(roles.critic->backbone(), {});
    models.values.stage = roles.critic->parallel().stage;
    const auto forward = [&model = *roles.critic, settings](const Experience& e) {
      return model.values(freely_routed(e.tokens), settings.critic_recomputes);
    };
    models.critic.emplace(
        TrainedCritic{roles.critic->trained(),
                      {meshes.critic.mesh(), roles.critic->parts()},
                      forward,
                      empty_pass(roles.critic->backbone(), settings.critic_recomputes, settings.critic_gathers)});
  }
  return models;
}

}  // namespace roll
