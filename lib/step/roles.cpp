#include "step/roles.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "checkpoint/hf_folder.h"
#include "checkpoint/hub_cache.h"
#include "model/device.h"
#include "model/spec.h"
#include "settings/placement.h"

namespace roll {

MeshShape mesh_shape(const StrategyArgs& strategy) {
  const StrategyConfig& sizes = strategy.strategy_config;
  return {.cp = sizes.context_parallel(), .tp = sizes.tensor_parallel()};
}

ModelParallel model_parallel(Mesh& mesh) {
  return {.tp = mesh.shape().tp > 1 ? &mesh.tp() : nullptr, .cp = mesh.shape().cp > 1 ? &mesh.cp() : nullptr};
}

std::vector<int> mover_ranks(const std::vector<int>& trainer, const std::vector<int>& sampler) {
  std::vector<int> movers;
  std::ranges::set_union(trainer, sampler, std::back_inserter(movers));
  return movers;
}

WeightSchedule policy_schedule(const ModelSpec& policy, WeightLayout trainer, WeightLayout sampler) {
  const std::vector<int> movers = mover_ranks(trainer.ranks, sampler.ranks);
  for (WeightLayout* layout : {&trainer, &sampler})
    for (int& rank : layout->ranks) rank = static_cast<int>(std::ranges::lower_bound(movers, rank) - movers.begin());
  return {policy, policy_parameters(policy), std::move(trainer), std::move(sampler)};
}

RoleMeshes role_meshes(const Config& config, Meshes& meshes) {
  const auto mesh_of = [&](const WorkerConfig& worker, const MeshShape& shape) -> RoleMesh& {
    return meshes.of(worker.ranks, shape);
  };
  const auto own_mesh = [&](const WorkerConfig& worker) -> RoleMesh& { return mesh_of(worker, mesh_shape(worker)); };
  // The sampler's sequences are short to begin with and grow token by token: only its weights are shared out.
  RoleMeshes roles{.actor = own_mesh(config.actor_train),
                   .reference = own_mesh(config.uses_reference() ? config.reference : config.actor_train),
                   .critic = own_mesh(config.uses_critic() ? config.critic : config.actor_train),
                   .sampler = mesh_of(config.actor_infer, {.cp = 1, .tp = mesh_shape(config.actor_infer).tp}),
                   .movers = nullptr};
  if (shares_weights(config)) return roles;
  roles.movers = meshes.group(mover_ranks(config.actor_train.ranks, config.actor_infer.ranks));
  return roles;
}

RoleFolders role_folders(const Config& config) {
  const auto folder = [](const WorkerConfig& worker) {
    return model_folder(worker.model_args.model_name_or_path.value());
  };
  RoleFolders folders{.actor = folder(config.actor_train), .reference = {}, .critic = {}};
  if (config.uses_reference()) folders.reference = folder(config.reference);
  if (config.uses_critic()) folders.critic = folder(config.critic);
  return folders;
}

namespace {

ModelSpec spec_of(const std::filesystem::path& folder) {
  return parse_spec(HfFolder::read_config(folder), (folder / "config.json").string());
}

void check_vocabulary(const char* role, const std::filesystem::path& folder, const ModelSpec& spec,
                      const ModelSpec& policy) {
  if (spec.vocab_size != policy.vocab_size)
    throw user_error("{} {}: vocab_size = {}: must be the policy's, which is {}", role, folder.string(),
                     spec.vocab_size, policy.vocab_size);
}

}  // namespace

Roles load_roles(const Config& config, const RoleFolders& folders, const RoleMeshes& meshes, at::Device device) {
  Roles roles{.policy_spec = spec_of(folders.actor)};
  const at::ScalarType dtype = model_dtype(config.actor_train.model_args, device);
  const auto load_policy = [&](RoleMesh& mesh, const std::filesystem::path& folder, at::ScalarType of_role) {
    return Transformer::load(folder, device, of_role, model_parallel(mesh.mesh()));
  };
  if (meshes.actor.is_here()) roles.actor = load_policy(meshes.actor, folders.actor, dtype);
  if (config.uses_reference()) {
    check_vocabulary("reference", folders.reference, spec_of(folders.reference), roles.policy_spec);
    if (meshes.reference.is_here()) {
      roles.reference =
          load_policy(meshes.reference, folders.reference, model_dtype(config.reference.model_args, device));
      for (auto& [name, tensor] : roles.reference->parameters()) tensor.set_requires_grad(false);
    }
  }
  if (config.uses_critic()) {
    roles.critic_spec = spec_of(folders.critic);
    check_vocabulary("critic", folders.critic, *roles.critic_spec, roles.policy_spec);
    if (meshes.critic.is_here())
      roles.critic = ValueModel::load(folders.critic, device, model_dtype(config.critic.model_args, device),
                                      model_parallel(meshes.critic.mesh()));
  }
  if (meshes.sampler.is_here() && !shares_weights(config, meshes.sampler.world().rank()))
    roles.sampler = load_policy(meshes.sampler, folders.actor, dtype);
  return roles;
}

void update_sampler(Roles& roles, const RoleMeshes& meshes, Traffic& traffic) {
  if (!meshes.movers) return;
  traffic.set_phase("model_update");
  if (!roles.to_sampler) {
    const WeightSchedule schedule = policy_schedule(roles.policy_spec, {meshes.actor.ranks(), meshes.actor.shape().tp},
                                                    {meshes.sampler.ranks(), meshes.sampler.shape().tp});
    roles.to_sampler.emplace(schedule, *meshes.movers);
  }
  roles.to_sampler->run(roles.actor ? &*roles.actor : nullptr, roles.sampler ? &*roles.sampler : nullptr);
}

void move_parameters(const NamedTensors& parameters, at::Device device) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : parameters) at::Tensor(tensor).set_data(tensor.to(device));
}

}  // namespace roll
