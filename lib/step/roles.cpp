#include "step/roles.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "base/error.h"
#include "model/model_folder.h"
#include "model/mtp.h"
#include "pipeline/stage.h"
#include "settings/training_plan.h"

namespace roll {

ModelParallel model_parallel(Mesh& mesh, const StageSplit& stages) {
  return {.tp = mesh.shape().tp > 1 ? &mesh.tp() : nullptr,
          .cp = mesh.shape().cp > 1 ? &mesh.cp() : nullptr,
          .ep = mesh.experts(),
          .stage = stages.num_stages() > 1 ? std::make_shared<PipelineStage>(stages, mesh) : nullptr};
}

namespace {

/// Checks vocabulary sizes; a frozen model's may be larger than the policy's.
void check_vocabulary(const std::string& role, const RoleModel& model, const ModelSpec& policy) {
  const bool is_right =
      is_trained(role) ? model.spec.vocab_size == policy.vocab_size : model.spec.vocab_size >= policy.vocab_size;
  if (!is_right)
    throw user_error("{} {}: vocab_size = {}: must be {}the policy's, which is {}", role, model.folder.string(),
                     model.spec.vocab_size, is_trained(role) ? "" : "at least ", policy.vocab_size);
}

/// Loads this rank's part of a model; with adapters it may share the policy's base.
template <class Model>
Model make_model(const RoleModel& model, RoleMesh& role, const StageSplit& stages, at::Device device,
                 const Roles& loaded = {}) {
  ROLL_CHECK_EQ(stages.num_stages(), role.shape().pp, "a role has the configured number of stages");
  const ModelParallel parallel = model_parallel(role.mesh(), stages);
  if (model.folder.empty()) return Model::planned(model.spec, model.dtype, parallel);
  const NamedTensors* base = model.spec.lora && stages == loaded.policy_stages
                                 ? loaded.base_for(model.folder, model.dtype, role, model.spec.quantised)
                                 : nullptr;
  const auto load = [&](auto... more) {
    return Model::load(model.folder, device, model.dtype, parallel, architectures(), model.lora, base, more...)
        .for_length(model.spec.max_positions);
  };
  if constexpr (std::is_same_v<Model, Transformer>)
    return load(model.spec.trains_mtp);
  else
    return load();
}

/// Returns true if the reference is the policy without its adapters, on the same ranks, and can share its tensors.
bool is_policy_base(const RoleModel& reference, const RoleModel& policy, bool is_on_its_ranks) {
  if (!is_on_its_ranks || !policy.spec.lora || reference.spec.lora || reference.dtype != policy.dtype) return false;
  if (reference.folder.empty() || policy.folder.empty()) {
    ModelSpec base = policy.spec;
    base.lora.reset();
    base.quantised = reference.spec.quantised;
    return reference.folder == policy.folder && reference.spec == base;
  }
  return std::filesystem::equivalent(base_folder(policy.folder), reference.folder);
}

/// Quantises a reference from the policy's base as the policy does, on any ranks, so that the layout does not change
/// it.
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
  const bool matches = base && base->dtype == dtype && base->quantised == quantised && base->mesh == &mesh;
  return matches && std::filesystem::equivalent(base_folder(folder), base->folder) ? &policy()->parameters() : nullptr;
}

RoleModels models_in(const RoleSources& sources) {
  RoleModels models;
  for (const auto& [role, source] : sources.roles) {
    ModelSpec spec = for_length(read_spec(source.folder), sources.longest_sequence);
    if (source.trains_mtp) spec = with_mtp(spec, open_weights(source.folder, spec));
    models[role] = {with_adapters(spec, source.lora, source.folder.string()), source.dtype, source.folder, source.lora};
  }
  const RoleModel& policy = models.at(kPolicyRole);
  for (auto& [role, model] : models) {
    check_vocabulary(role, model, policy.spec);
    if (!is_trained(role)) quantise_as_policy(model, policy);
  }
  return models;
}

namespace {

StageSplit split_stages(const RolePlace& place, const RoleModel& model) {
  return place.stages ? place.stages(model.spec.num_layers) : StageSplit();
}

/// Loads a reference, or shares the policy's tensors if it is the policy without its adapters.
void load_reference(Role& role, const RoleModel& model, const RoleModel& policy, const Roles& roles, RoleMesh& mesh,
                    const RolePlace& place, const RoleMeshes& meshes, at::Device device, bool offload) {
  if (is_policy_base(model, policy, &mesh == &meshes.policy())) {
    role.transformer = roles.policy()->without_adapters();
    return;
  }
  role.transformer = make_model<Transformer>(model, mesh, split_stages(place, model), device);
  if (model.lora && !model.spec.lora) role.transformer = role.transformer->without_adapters();
  for (auto& [name, tensor] : role.transformer->parameters()) tensor.set_requires_grad(false);
  if (offload) role.offloaded.emplace(role.transformer->parameters());
}

}  // namespace

Roles make_roles(const RoleModels& models, const RolePlaces& places, const RoleMeshes& meshes, at::Device device,
                 bool offload_references) {
  Roles roles;
  for (const auto& [role, model] : models) roles.all[role].spec = model.spec;
  const RoleModel& policy = models.at(kPolicyRole);
  roles.policy_stages = split_stages(places.policy(), policy);
  const auto load = [&](const std::string& name, const RoleModel& model) {
    RoleMesh& mesh = meshes.of(name);
    if (!mesh.is_here()) return;
    Role& role = roles.all.at(name);
    const RolePlace& place = places.roles.at(name);
    if (name == kCriticRole)
      role.value_model = make_model<ValueModel>(model, mesh, split_stages(place, model), device, roles);
    else if (is_trained(name))
      role.transformer = make_model<Transformer>(model, mesh, split_stages(place, model), device, roles);
    else
      load_reference(role, model, policy, roles, mesh, place, meshes, device, offload_references);
  };
  load(kPolicyRole, policy);
  if (roles.policy() && policy.spec.lora && !policy.folder.empty())
    roles.base = FrozenBase{base_folder(policy.folder), policy.dtype, policy.spec.quantised, &meshes.policy()};
  for (const auto& [name, model] : models)
    if (name != kPolicyRole) load(name, model);
  if (std::ranges::binary_search(places.sampler_copies, meshes.sampler.world().rank())) {
    RoleModel sampled = policy;
    sampled.spec.trains_mtp = false;
    roles.sampler = make_model<Transformer>(sampled, meshes.sampler, StageSplit(), device);
  }
  return roles;
}

namespace {

/// Makes the schedule of the weight sync. Layouts name world ranks; the schedule names ranks of `movers`.
WeightSchedule policy_schedule(ModelSpec policy, WeightLayout trainer, WeightLayout sampler) {
  policy.trains_mtp = false;  // the sampler has no use for the head
  const std::vector<int> movers = mover_ranks(trainer.ranks, sampler.ranks);
  for (WeightLayout* layout : {&trainer, &sampler})
    for (int& rank : layout->ranks) rank = static_cast<int>(std::ranges::lower_bound(movers, rank) - movers.begin());
  return {policy, select_trained(policy, *shared_policy_parameters(policy)), std::move(trainer), std::move(sampler)};
}

}  // namespace

void prepare_weight_sync(Roles& roles, const RoleMeshes& meshes, Traffic& traffic) {
  if (!meshes.movers || roles.to_sampler) return;
  traffic.set_phase("model_update");
  const RoleMesh& trainer = meshes.policy();
  const WeightSchedule schedule = policy_schedule(
      roles.policy_spec(),
      {trainer.ranks(), trainer.shape().tp, trainer.shape().ep, trainer.shape().cp, roles.policy_stages},
      {meshes.sampler.ranks(), meshes.sampler.shape().tp});
  roles.to_sampler.emplace(schedule, *meshes.movers);
}

void update_sampler(Roles& roles, const RoleMeshes& meshes, Traffic& traffic) {
  if (!meshes.movers) return;
  prepare_weight_sync(roles, meshes, traffic);
  traffic.set_phase("model_update");
  roles.to_sampler->run(roles.policy() ? &*roles.policy() : nullptr, roles.sampler ? &*roles.sampler : nullptr);
}

}  // namespace roll
