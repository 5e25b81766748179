// Places the roles of a run on ranks and makes their communicators. Each role has its own mesh. The learners
// (ranks that train or run forwards for training) form a world of their own, so that they can work while other ranks
// sample ahead; otherwise they are all ranks.
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
  std::function<StageSplit(int64_t num_layers)>
      stages{};  // pipeline split of a model with `num_layers`; null: one stage
};

struct RolePlaces {
  ByRole<RolePlace> roles;  // policy, and roles that train or run forwards for training
  RolePlace sampler;
  std::vector<int> learners;        // ascending
  std::vector<int> sampler_copies;  // sampler's ranks that need a copy of the weights, ascending

  const RolePlace& policy() const { return roles.at(kPolicyRole); }
};

/// Meshes of the roles; equal ranks and layouts share a mesh.
struct RoleMeshes {
  ByRole<RoleMesh*> roles;
  RoleMesh& sampler;
  Communicator* movers;                      // ranks of the weight sync; null: this rank is not one, or no weights move
  RoleMesh& learning;                        // learners among all ranks; broadcasts their results
  std::optional<ByRole<RoleMesh>> learners;  // roles on ranks of the learners' world; set on learners only

  /// Returns a role's mesh.
  RoleMesh& of(const std::string& role) const { return *roles.at(role); }
  RoleMesh& policy() const { return of(kPolicyRole); }
};
/// Makes the meshes. **Collective** over the world.
RoleMeshes role_meshes(const RolePlaces& places, Meshes& meshes);

/// Returns the ranks that take part in the weight sync: trainer's and sampler's, ascending.
std::vector<int> mover_ranks(const std::vector<int>& trainer, const std::vector<int>& sampler);

}  // namespace roll
