// Places the roles of a run on ranks and makes their communicators. Each role (policy, critic, reference, ...) has its
// own mesh. The learners are the ranks that train or run forwards for training; all ranks, unless some only sample.
// They have a communicator of their own, so that they can work while other ranks sample ahead. Made once when a run
// starts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dist/mesh.h"
#include "pipeline/stage_split.h"
#include "settings/by_role.h"

namespace roll {

/// Ranks of a role and its parallel layout.
struct RolePlace {
  std::vector<int> ranks{0};  // world ranks, ascending
  MeshShape shape{};
  /// Returns the pipeline split of a model with `num_layers` layers; null: one stage.
  std::function<StageSplit(int64_t num_layers)> stages{};
};

/// Places of all roles of a run. All lists are world ranks, ascending.
struct RolePlaces {
  ByRole<RolePlace> roles;    // policy, and roles that train or run forwards for training
  RolePlace sampler;          // samples with the policy's weights
  std::vector<int> learners;  // the union of the ranks in `roles`
  /// The sampler's ranks that need a copy of the policy's weights; its other ranks read the trainer's tensors.
  std::vector<int> sampler_copies;

  const RolePlace& policy() const { return roles.at(kPolicyRole); }
};

/// Meshes of the roles, on every rank. RoleMesh::world() is all ranks of the job, except in roles_among_learners. Roles
/// with equal ranks and layouts share a mesh.
struct RoleMeshes {
  ByRole<RoleMesh*> roles;  // same roles as RolePlaces::roles
  RoleMesh& sampler;
  Communicator* movers;    // ranks of the weight sync; null if this rank is not among them, or if no weights move
  RoleMesh& learner_mesh;  // all learners; used to broadcast their results to all ranks
  /// Meshes of the roles in `roles`; RoleMesh::world() is the learners' communicator. Set on learners only.
  std::optional<ByRole<RoleMesh>> roles_among_learners;

  /// Returns a role's mesh in `roles`, where it must be.
  RoleMesh& of(const std::string& role) const { return *roles.at(role); }
  RoleMesh& policy() const { return of(kPolicyRole); }
};
/// Makes the meshes and communicators. `meshes` owns them and must outlive the result. **Collective** over the world.
RoleMeshes role_meshes(const RolePlaces& places, Meshes& meshes);

/// Returns the ranks that take part in the weight sync: the union of the trainer's and the sampler's. All lists ascend.
std::vector<int> mover_ranks(const std::vector<int>& trainer, const std::vector<int>& sampler);

}  // namespace roll
