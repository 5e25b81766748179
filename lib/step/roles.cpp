#include "step/roles.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "base/error.h"
#include "model/model_folder.h"
#include "pipeline/stage.h"

namespace roll {

ModelParallel model_parallel(Mesh& mesh, const StageSplit& stages) {
  return {.tp = mesh.shape().tp > 1 ? &mesh.tp() : nullptr,
          .cp = mesh.shape().cp > 1 ? &mesh.cp() : nullptr,
          .ep = mesh.experts(),
          .stage = stages.num_stages() > 1 ? std::make_shared<PipelineStage>(stages, mesh) : nullptr};
}

namespace {

void check_vocabulary(const char* role, const RoleModel& model, const ModelSpec& policy) {
  if (model.spec.vocab_size != policy.vocab_size)
    throw user_error("{} {}: vocab_size = {}: must be the policy's, which is {}", role, model.folder.string(),
                     model.spec.vocab_size, policy.vocab_size);
}

/// This rank's part; with adapters maybe beside the base that is there.
template <class Model>
Model make_model(const RoleModel& model, RoleMesh& role, const StageSplit& stages, at::Device device,
                 const Roles& others = {}) {
  ROLL_CHECK_EQ(stages.num_stages(), role.shape().pp, "a role's place says its stages");
  const ModelParallel parallel = model_parallel(role.mesh(), stages);
  if (model.folder.empty()) return Model::planned(model.spec, model.dtype, parallel);
  const NamedTensors* base = model.spec.lora && stages == others.actor_stages
                                 ? others.base_for(model.folder, model.dtype, role, model.spec.quantised)
                                 : nullptr;
  return Model::load(model.folder, device, model.dtype, parallel, architectures(), model.lora, base)
      .for_length(model.spec.max_positions);
}

/// Whether the reference is the actor without its adapters: the same tensors on the same ranks.
bool is_policy_base(const RoleModels& models, const RoleModel& reference, bool is_on_its_ranks) {
  const RoleModel& actor = models.actor;
  if (!is_on_its_ranks || !actor.spec.lora || reference.spec.lora || reference.dtype != actor.dtype) return false;
  if (reference.folder.empty() || actor.folder.empty()) return reference.folder == actor.folder;
  return std::filesystem::equivalent(base_folder(actor.folder), reference.folder);
}

/// The policy's base is quantised as the policy has it, on whatever ranks it lies: a reference is the same in every
/// layout.
void quantise_as_policy(RoleModel& reference, const RoleModel& policy) {
  if (!policy.lora || !policy.lora->quantise_base) return;
  if (!std::filesystem::equivalent(base_folder(reference.folder), base_folder(policy.folder))) return;
  reference.lora = reference.spec.lora.value_or(*policy.lora);
  reference.lora->quantise_base = policy.lora->quantise_base;
  reference.spec.quantised = policy.spec.quantised;
}

}  // namespace

const NamedTensors* Roles::base_for(const std::filesystem::path& folder, at::ScalarType dtype, const RoleMesh& mesh,
                                    const std::optional<Quantisation>& quantised) const {
  const bool is_like = base && base->dtype == dtype && base->quantised == quantised && base->mesh == &mesh;
  return is_like && std::filesystem::equivalent(base_folder(folder), base->folder) ? &actor->parameters() : nullptr;
}

RoleModels models_in(const RoleFolders& folders, const RoleDtypes& dtypes) {
  const auto spec_of = [&](const std::filesystem::path& folder) {
    return for_length(read_spec(folder), folders.longest_sequence);
  };
  const auto trained = [&](const std::filesystem::path& folder, at::ScalarType dtype,
                           const std::optional<LoraSpec>& lora) {
    return RoleModel{with_adapters(spec_of(folder), lora, folder.string()), dtype, folder, lora};
  };
  RoleModels models{.actor = trained(folders.actor, dtypes.actor, folders.actor_lora), .critic = {}, .references = {}};
  for (size_t i = 0; i < folders.references.size(); ++i) {
    const std::filesystem::path& folder = folders.references[i];
    RoleModel& model = models.references.emplace_back(RoleModel{spec_of(folder), dtypes.references[i], folder});
    check_vocabulary("reference", model, models.actor.spec);
    quantise_as_policy(model, models.actor);
  }
  if (folders.critic) {
    models.critic = trained(*folders.critic, dtypes.critic, folders.critic_lora);
    check_vocabulary("critic", *models.critic, models.actor.spec);
  }
  return models;
}

Roles make_roles(const RoleModels& models, const RolePlaces& places, const RoleMeshes& meshes, at::Device device,
                 bool references_wait) {
  Roles roles{.policy_spec = models.actor.spec};
  const auto stages_of = [](const RolePlace& place, const RoleModel& model) {
    return place.stages ? place.stages(model.spec.num_layers) : StageSplit();
  };
  roles.actor_stages = stages_of(places.actor, models.actor);
  if (meshes.actor.is_here())
    roles.actor = make_model<Transformer>(models.actor, meshes.actor, roles.actor_stages, device);
  if (roles.actor && models.actor.spec.lora && !models.actor.folder.empty())
    roles.base =
        FrozenBase{base_folder(models.actor.folder), models.actor.dtype, models.actor.spec.quantised, &meshes.actor};
  for (size_t i = 0; i < models.references.size(); ++i) {
    roles.reference_specs.push_back(models.references[i].spec);
    auto& reference = roles.references.emplace_back();
    auto& waiting = roles.waiting.emplace_back();
    if (!meshes.references[i]->is_here()) continue;
    if (is_policy_base(models, models.references[i], meshes.references[i] == &meshes.actor)) {
      reference = roles.actor->without_adapters();
      continue;
    }
    reference = make_model<Transformer>(models.references[i], *meshes.references[i],
                                        stages_of(places.references[i], models.references[i]), device);
    if (models.references[i].lora && !models.references[i].spec.lora) reference = reference->without_adapters();
    for (auto& [name, tensor] : reference->parameters()) tensor.set_requires_grad(false);
    if (references_wait) waiting.emplace(reference->parameters());
  }
  if (models.critic) {
    roles.critic_spec = models.critic->spec;
    if (meshes.critic.is_here())
      roles.critic = make_model<ValueModel>(*models.critic, meshes.critic, stages_of(places.critic, *models.critic),
                                            device, roles);
  }
  if (std::ranges::binary_search(places.sampler_copies, meshes.sampler.world().rank()))
    roles.sampler = make_model<Transformer>(models.actor, meshes.sampler, StageSplit(), device);
  return roles;
}

namespace {

/// Who sends what; layouts in ranks of the world, the schedule in those of the movers.
WeightSchedule policy_schedule(const ModelSpec& policy, WeightLayout trainer, WeightLayout sampler) {
  const std::vector<int> movers = mover_ranks(trainer.ranks, sampler.ranks);
  for (WeightLayout* layout : {&trainer, &sampler})
    for (int& rank : layout->ranks) rank = static_cast<int>(std::ranges::lower_bound(movers, rank) - movers.begin());
  return {policy, trained_of(policy, *shared_policy_parameters(policy)), std::move(trainer), std::move(sampler)};
}

}  // namespace

void prepare_updates(Roles& roles, const RoleMeshes& meshes, Traffic& traffic) {
  if (!meshes.movers || roles.to_sampler) return;
  traffic.set_phase("model_update");
  const WeightSchedule schedule =
      policy_schedule(roles.policy_spec,
                      {meshes.actor.ranks(), meshes.actor.shape().tp, meshes.actor.shape().ep, meshes.actor.shape().cp,
                       roles.actor_stages},
                      {meshes.sampler.ranks(), meshes.sampler.shape().tp});
  roles.to_sampler.emplace(schedule, *meshes.movers);
}

void update_sampler(Roles& roles, const RoleMeshes& meshes, Traffic& traffic) {
  if (!meshes.movers) return;
  prepare_updates(roles, meshes, traffic);
  traffic.set_phase("model_update");
  roles.to_sampler->run(roles.actor ? &*roles.actor : nullptr, roles.sampler ? &*roles.sampler : nullptr);
}

}  // namespace roll
