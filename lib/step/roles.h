// Models of a run: the policy (trainer and sampler share tensors if they can), the frozen reference or teachers, and
// the critic.
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

/// Frozen weights with trained adapters.
struct FrozenBase {
  std::filesystem::path folder;
  at::ScalarType dtype = at::kFloat;
  std::optional<Quantisation> quantised;
  const RoleMesh* mesh = nullptr;  // must outlive the roles
};

/// Model of a role; empty if it does not live on this rank.
struct Role {
  ModelSpec spec;                            // known on all ranks
  std::optional<Transformer> transformer{};  // a reference may share the policy's tensors
  std::optional<ValueModel> value_model{};   // instead of `transformer` for a critic
  std::optional<VisitingWeights> waiting{};  // set if its weights wait in host memory

  /// Calls `f` with the model if it lives on this rank.
  template <class F>
  void with_model(F&& f) {
    if (transformer) f(*transformer);
    if (value_model) f(*value_model);
  }
};

struct Roles {
  ByRole<Role> all;
  std::optional<Transformer> sampler{};        // copy of the policy, if the sampler cannot read the trainer's tensors
  std::optional<WeightTransfer> to_sampler{};  // fills all such copies; made at first use

  std::optional<FrozenBase> base{};  // the policy's base
  StageSplit policy_stages{};

  const ModelSpec& policy_spec() const { return all.at(kPolicyRole).spec; }
  std::optional<Transformer>& policy() { return all.at(kPolicyRole).transformer; }
  const std::optional<Transformer>& policy() const { return all.at(kPolicyRole).transformer; }
  const Transformer& sampling_policy() const { return sampler ? *sampler : *policy(); }
  /// Returns the policy's tensors if a frozen or adapter-trained model of this folder can share them; else null.
  const NamedTensors* base_for(const std::filesystem::path& folder, at::ScalarType dtype, const RoleMesh& mesh,
                               const std::optional<Quantisation>& quantised = {}) const;
};

/// Returns the communicators of the ranks that share a model; null members if this rank is alone. `stages`: the
/// pipeline split, needed to compute.
ModelParallel model_parallel(Mesh& mesh, const StageSplit& stages = StageSplit());

/// Folder and dtype of a role's model.
struct RoleSource {
  std::filesystem::path folder;
  at::ScalarType dtype = at::kFloat;
  std::optional<LoraSpec> lora{};  // trained adapters; unset: all weights are trained
};
struct RoleSources {
  ByRole<RoleSource> roles;
  int64_t longest_sequence = 0;  // longest sequence of the run, which selects LongRoPE factors (for_length())

  const std::filesystem::path& policy_folder() const { return roles.at(kPolicyRole).folder; }
};

/// Description of a role's model, before ranks exist.
struct RoleModel {
  ModelSpec spec;
  at::ScalarType dtype = at::kFloat;
  std::filesystem::path folder{};  // empty: no weights (Transformer::planned)
  std::optional<LoraSpec> lora{};  // trained adapters; for a reference, how it is loaded
};
using RoleModels = ByRole<RoleModel>;

/// Reads the descriptions of all models. UserError: an unknown model; a critic whose vocabulary differs from the
/// policy's; or a reference or teacher with a smaller one.
RoleModels models_in(const RoleSources& sources);

/// Loads this rank's models. With `references_wait`, reference weights stay on the host until a forward needs them.
/// UserError: a model cannot be loaded.
Roles make_roles(const RoleModels& models, const RolePlaces& places, const RoleMeshes& meshes, at::Device device,
                 bool references_wait = false);

/// Returns all trained parameters on the host of the mesh's first rank; other ranks get an empty list. **Collective**
/// over the mesh. With expert parallelism, the first `ep` shards take part.
template <class Model>
NamedTensors gather_on_first(const Model& model, Mesh& mesh) {
  if (mesh.place().dp * mesh.shape().cp + mesh.place().cp >= mesh.shape().ep) return {};
  return model.parts().gather_all(model.trained(), mesh.world().is_first());
}

/// Makes the weight transfer that update_sampler() would otherwise make at its first call. **Collective**.
void prepare_updates(Roles& roles, const RoleMeshes& meshes, Traffic& traffic);

/// Copies the trainer's weights to the sampler's copy, if there is one. **Collective**.
void update_sampler(Roles& roles, const RoleMeshes& meshes, Traffic& traffic);

}  // namespace roll
