// The models of a run: the policy (trainer and sampler read the same tensors where they can), its frozen copy or
// teachers, the critic.
#pragma once

#include <filesystem>
#include <optional>

#include "dist/mesh.h"
#include "dist/traffic.h"
#include "model/transformer.h"
#include "model/value_model.h"
#include "model/weight_transfer.h"
#include "pipeline/stage_split.h"
#include "step/role_meshes.h"
#include "step/visiting_weights.h"

namespace roll {

/// Weights that never change, because adapters are trained beside them.
struct FrozenBase {
  std::filesystem::path folder;
  at::ScalarType dtype = at::kFloat;
  std::optional<Quantisation> quantised;
  const RoleMesh* mesh = nullptr;  // must outlive the roles
};

/// A role's model, which lives on this rank or does not.
struct Role {
  ModelSpec spec;                            // known everywhere
  std::optional<Transformer> transformer{};  // of a reference maybe the policy's tensors
  std::optional<ValueModel> value_model{};   // in its place, of a critic
  std::optional<VisitingWeights> waiting{};  // where its weights wait in host memory

  /// Calls `f` with the model, where it lives here.
  template <class F>
  void with_model(F&& f) {
    if (transformer) f(*transformer);
    if (value_model) f(*value_model);
  }
};

struct Roles {
  ByRole<Role> all;
  std::optional<Transformer> sampler{};        // a copy of the policy, only where it cannot read the trainer's
  std::optional<WeightTransfer> to_sampler{};  // what fills all such copies, made when first needed

  std::optional<FrozenBase> base{};  // the policy's
  StageSplit policy_stages{};

  const ModelSpec& policy_spec() const { return all.at(kPolicyRole).spec; }
  std::optional<Transformer>& policy() { return all.at(kPolicyRole).transformer; }
  const std::optional<Transformer>& policy() const { return all.at(kPolicyRole).transformer; }
  const Transformer& sampling_policy() const { return sampler ? *sampler : *policy(); }
  /// The policy's tensors, where a model of this folder that is never trained, or has adapters of its own, may share
  /// them; else null.
  const NamedTensors* base_for(const std::filesystem::path& folder, at::ScalarType dtype, const RoleMesh& mesh,
                               const std::optional<Quantisation>& quantised = {}) const;
};

/// The ranks of a mesh that share a model; null where it is this rank alone. `stages`: its layers on several, which
/// are needed where it computes.
ModelParallel model_parallel(Mesh& mesh, const StageSplit& stages = StageSplit());

/// Where a role's model lies, and what it computes in.
struct RoleSource {
  std::filesystem::path folder;
  at::ScalarType dtype = at::kFloat;
  std::optional<LoraSpec> lora{};  // what is trained; none: all weights
};
struct RoleSources {
  ByRole<RoleSource> roles;
  int64_t longest_sequence = 0;  // of the run, by which all their heads turn (for_length())

  const std::filesystem::path& policy_folder() const { return roles.at(kPolicyRole).folder; }
};

/// A role's model before there are ranks.
struct RoleModel {
  ModelSpec spec;
  at::ScalarType dtype = at::kFloat;
  std::filesystem::path folder{};  // empty: a model without weights (Transformer::planned)
  std::optional<LoraSpec> lora{};  // what is trained of it; a reference's: how it is loaded
};
using RoleModels = ByRole<RoleModel>;

/// UserError: an unknown model; a critic with another vocabulary than the policy, a reference or teacher with a smaller
/// one.
RoleModels models_in(const RoleSources& sources);

/// The models of this rank; with `references_wait` on the host until a forward wants them. UserError of the loaders.
Roles make_roles(const RoleModels& models, const RolePlaces& places, const RoleMeshes& meshes, at::Device device,
                 bool references_wait = false);

/// The whole of what is trained, on the host of the mesh's first rank; other ranks get an empty list. **Collective**
/// over the mesh; of a model whose experts are shared, its first expert ranks have a part in it.
template <class Model>
NamedTensors gather_on_first(const Model& model, Mesh& mesh) {
  if (mesh.place().dp * mesh.shape().cp + mesh.place().cp >= mesh.shape().ep) return {};
  return model.parts().gather_all(model.trained(), mesh.world().is_first());
}

/// Makes what the first update_sampler() otherwise makes. **Collective**.
void prepare_updates(Roles& roles, const RoleMeshes& meshes, Traffic& traffic);

/// Brings the trainer's weights to the sampler's copy, where there is one. **Collective**.
void update_sampler(Roles& roles, const RoleMeshes& meshes, Traffic& traffic);

}  // namespace roll
