// Loads the models of a run on this rank: the policy, the frozen reference or teachers, and the critic. Copies the
// policy's weights to the sampler where trainer and sampler cannot share tensors (weight sync).
#pragma once

#include <filesystem>
#include <optional>

#include "dist/mesh.h"
#include "dist/traffic.h"
#include "model/transformer.h"
#include "model/value_model.h"
#include "model/weight_transfer.h"
#include "pipeline/stage_split.h"
#include "step/offloaded_weights.h"
#include "step/role_meshes.h"

namespace roll {

/// The policy's frozen weights, if it is trained by adapters (LoRA); other roles' models may share these tensors.
struct FrozenBase {
  std::filesystem::path folder;  // model folder of the weights without adapters
  at::ScalarType dtype = at::kFloat;
  std::optional<Quantisation> quantised;  // quantisation of the frozen weights; nullopt: none
  const RoleMesh* mesh = nullptr;         // the policy's; must outlive the roles
};

/// Model of a role. If this rank is not one of the role's, only `spec` is set.
struct Role {
  ModelSpec spec;                               // known on all ranks
  std::optional<Transformer> transformer{};     // a reference may share the policy's tensors
  std::optional<ValueModel> value_model{};      // a critic's, in place of `transformer`
  std::optional<OffloadedWeights> offloaded{};  // set if the weights of `transformer` are kept in host memory

  /// Calls f(model) with the Transformer or ValueModel that is set; does nothing if none is.
  template <class F>
  void with_model(F&& f) {
    if (transformer) f(*transformer);
    if (value_model) f(*value_model);
  }
};

/// All models of a run on this rank.
struct Roles {
  ByRole<Role> all;
  std::optional<Transformer> sampler{};  // this rank's copy of the policy, if it is one of RolePlaces::sampler_copies
  std::optional<WeightTransfer> to_sampler{};  // fills all such copies; made by prepare_weight_sync()

  std::optional<FrozenBase> base{};  // unset if the policy has no adapters
  StageSplit policy_stages{};        // pipeline split of the policy

  const ModelSpec& policy_spec() const { return all.at(kPolicyRole).spec; }
  std::optional<Transformer>& policy() { return all.at(kPolicyRole).transformer; }
  const std::optional<Transformer>& policy() const { return all.at(kPolicyRole).transformer; }
  /// Returns the model that the sampler reads; this rank must hold the policy or a copy.
  const Transformer& sampling_policy() const { return sampler ? *sampler : *policy(); }
  /// Returns the policy's tensors if a model with this folder, dtype, mesh and quantisation can use them as its frozen
  /// base weights; else null.
  const NamedTensors* base_for(const std::filesystem::path& folder, at::ScalarType dtype, const RoleMesh& mesh,
                               const std::optional<Quantisation>& quantised = {}) const;
};

/// Returns the communicators of the ranks that share a model; members are null for dimensions of size 1. stages:
/// pipeline split of the model; the default suffices unless the model itself is run with the result.
ModelParallel model_parallel(Mesh& mesh, const StageSplit& stages = StageSplit());

/// Source of a role's model.
struct RoleSource {
  std::filesystem::path folder;  // model folder (Hugging Face layout)
  at::ScalarType dtype = at::kFloat;
  std::optional<LoraSpec> lora{};  // adapters to train; unset: a trained role trains all weights
  bool trains_mtp = false;         // the model's MTP head is trained, too
};
/// Sources of the models of all roles.
struct RoleSources {
  ByRole<RoleSource> roles;
  int64_t longest_sequence = 0;  // most tokens of a sequence in the run; selects LongRoPE factors (for_length())

  const std::filesystem::path& policy_folder() const { return roles.at(kPolicyRole).folder; }
};

/// Description of a role's model, which needs no ranks.
struct RoleModel {
  ModelSpec spec;
  at::ScalarType dtype = at::kFloat;
  std::filesystem::path folder{};  // empty: a model without weights, for plans (Transformer::planned)
  /// Adapters to train. For a reference: set if it is loaded like the policy, with its quantised base.
  std::optional<LoraSpec> lora{};
};
using RoleModels = ByRole<RoleModel>;

/// Reads the descriptions of all models from their folders, without weights. Throws UserError if a model cannot be read
/// or is not supported, the critic's vocabulary size differs from the policy's, or that of a reference or teacher is
/// smaller.
RoleModels models_in(const RoleSources& sources);

/// Loads this rank's parts of all models to `device`. offload_references: weights of references and teachers are kept
/// in host memory until a forward needs them (Role::offloaded). Throws UserError if a model cannot be loaded. `meshes`
/// must outlive the result.
Roles make_roles(const RoleModels& models, const RolePlaces& places, const RoleMeshes& meshes, at::Device device,
                 bool offload_references = false);

/// Returns all trained parameters, joined from their shards, in host memory of the mesh's first rank; other ranks get
/// an empty list. Model: Transformer or ValueModel. All ranks of the mesh may call it; it is **collective** over those
/// that hold the first copy of the weights.
template <class Model>
NamedTensors gather_on_first(const Model& model, Mesh& mesh) {
  if (mesh.place().dp * mesh.shape().cp + mesh.place().cp >= mesh.shape().ep) return {};
  return model.parts().gather_all(model.trained(), mesh.world().is_first());
}

/// Makes roles.to_sampler, unless no weights move or it exists. update_sampler() calls it first; forecasts call it
/// before a step that they measure. **Collective** over meshes.movers; does nothing on other ranks.
void prepare_weight_sync(Roles& roles, const RoleMeshes& meshes, Traffic& traffic);

/// Copies the policy's current weights to all sampler copies (weight sync); does nothing if there are none.
/// **Collective** over meshes.movers; does nothing on other ranks.
void update_sampler(Roles& roles, const RoleMeshes& meshes, Traffic& traffic);

}  // namespace roll
