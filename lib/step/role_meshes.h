// Places the roles of a run on ranks and makes their communicators. Each role (policy, critic, reference, ...) has its
// own mesh. The learners, all ranks that train or run forwards for training, have a communicator of their own, so that
// they can work while other ranks sample ahead; without ranks that only sample, they are all ranks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dist/mesh.h"
#include "pipeline/stage_split.h"
#include "settings/by_role.h"

namespace roll {

/// Ranks of a role (ascending world ranks) and its parallel layout.
struct RolePlace {
  std::vector<int> ranks{0};
  MeshShape shape{};
  /// Returns the pipeline split of a model with `num_layers` layers; null: one stage.
  std::function<StageSplit(int64_t num_layers)> stages{};
};

/// Places of all roles of a run; ranks are world ranks, ascending.
struct RolePlaces {
  ByRole<RolePlace> roles;          // policy, and roles that train or run forwards for training
  RolePlace sampler;                // samples with the policy's weights
  std::vector<int> learners;        // union of the ranks of `roles`
  std::vector<int> sampler_copies;  // the sampler's ranks that cannot read the trainer's tensors and need a copy

  const RolePlace& policy() const { return roles.at(kPolicyRole); }
};

/// Meshes of the roles; roles with equal ranks and layouts share a mesh. Made on every rank.
struct RoleMeshes {
  ByRole<RoleMesh*> roles;  // meshes among all ranks
  RoleMesh& sampler;
  Communicator* movers;  // ranks of the weight sync; null if this rank is not among them, or if no weights move
  RoleMesh& learning;    // the learners among all ranks; broadcasts their results to all
  /// The same roles as `roles`, with ranks of the learners' communicator; set on learners only.
  std::optional<ByRole<RoleMesh>> learners;

  /// Returns a role's mesh among all ranks; the role must be in `roles`.
  RoleMesh& of(const std::string& role) const { return *roles.at(role); }
  RoleMesh& policy() const { return of(kPolicyRole); }
};
/// Makes the meshes. `meshes` owns them and must outlive the result. **Collective** over the world.
RoleMeshes role_meshes(const RolePlaces& places, Meshes& meshes);

/// Returns the ranks that take part in the weight sync: the union of the trainer's and the sampler's. All lists ascend.
std::vector<int> mover_ranks(const std::vector<int>& trainer, const std::vector<int>& sampler);

}  // namespace roll
