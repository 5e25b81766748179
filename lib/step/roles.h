// The models of a run: the policy (trainer and sampler read the same tensors where they can), its frozen copy, the
// critic.
#pragma once

#include <filesystem>
#include <optional>

#include "dist/mesh.h"
#include "dist/traffic.h"
#include "model/transformer.h"
#include "model/value_model.h"
#include "model/weight_transfer.h"
#include "settings/config.h"

namespace roll {

/// Of each only what lives on this rank.
struct Roles {
  ModelSpec policy_spec;  // known everywhere
  std::optional<ModelSpec> critic_spec;
  std::optional<Transformer> actor;
  std::optional<Transformer> reference;      // only when a KL to it is wanted
  std::optional<ValueModel> critic;          // only under gae
  std::optional<Transformer> sampler;        // a copy of the policy, only where it cannot read the trainer's
  std::optional<WeightTransfer> to_sampler;  // what fills all such copies, made when first needed

  const Transformer& sampling_policy() const { return sampler ? *sampler : *actor; }
};

/// The layout that a strategy asks for.
MeshShape mesh_shape(const StrategyArgs& strategy);
inline MeshShape mesh_shape(const WorkerConfig& worker) {
  return mesh_shape(worker.strategy_args);
}
/// The ranks of a mesh that share a model; null where it is this rank alone.
ModelParallel model_parallel(Mesh& mesh);

/// The ranks between which weights move from trainer to sampler: those of both. Ascending.
std::vector<int> mover_ranks(const std::vector<int>& trainer, const std::vector<int>& sampler);
/// Who sends what; layouts in ranks of the world, the schedule in those of the movers.
WeightSchedule policy_schedule(const ModelSpec& policy, WeightLayout trainer, WeightLayout sampler);

/// Each role has its own ranks and layout; equal ones share a mesh.
struct RoleMeshes {
  RoleMesh &actor, &reference, &critic, &sampler;
  Communicator* movers;  // ranks between which weights move from trainer to sampler; null: not this one, or none do
};
/// **Collective**.
RoleMeshes role_meshes(const Config& config, Meshes& meshes);

struct RoleFolders {
  std::filesystem::path actor, reference, critic;
};
/// Of the roles that the configuration uses. UserError: a model that is not here.
RoleFolders role_folders(const Config& config);

/// UserError of the loaders; or critic and policy whose vocabularies differ.
Roles load_roles(const Config& config, const RoleFolders& folders, const RoleMeshes& meshes, at::Device device);

/// The whole weights, on the host of the mesh's first rank; other ranks get an empty list. **Collective** over the
/// mesh.
template <class Model>
NamedTensors gather_on_first(const Model& model, Mesh& mesh) {
  if (mesh.place().dp > 0 || mesh.place().cp > 0) return {};
  return model.parts().gather_all(model.parameters(), mesh.world().is_first());
}

/// Brings the trainer's weights to the sampler's copy, where there is one. **Collective**.
void update_sampler(Roles& roles, const RoleMeshes& meshes, Traffic& traffic);

/// Moves the weights; the tensors stay the same objects.
void move_parameters(const NamedTensors& parameters, at::Device device);

}  // namespace roll
