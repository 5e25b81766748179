// On which ranks the roles of a run live, and their communicators: each role has a mesh of its own ranks, and the ranks
// that train, or compute what training needs, are a world of their own: while sampling runs ahead, they work without
// the ranks that sample. Otherwise they are all ranks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dist/mesh.h"
#include "pipeline/stage_split.h"
#include "settings/by_role.h"

namespace roll {

/// The ranks of a role, ascending ranks of the world, and how these share its model out.
struct RolePlace {
  std::vector<int> ranks{0};
  MeshShape shape{};
  std::function<StageSplit(int64_t num_layers)> stages{};  // of a model with so many layers; null: one
};

struct RolePlaces {
  ByRole<RolePlace> roles;  // the policy's, and of what trains or computes what training needs
  RolePlace sampler;
  std::vector<int> learners;        // ranks that train, or compute what training needs, ascending
  std::vector<int> sampler_copies;  // ranks of the sampler that cannot read the trainer's tensors, ascending

  const RolePlace& policy() const { return roles.at(kPolicyRole); }
};

/// Equal ranks and layouts share a mesh.
struct RoleMeshes {
  ByRole<RoleMesh*> roles;
  RoleMesh& sampler;
  Communicator* movers;  // ranks between which weights move from trainer to sampler; null: not this one, or none do
  RoleMesh& learning;    // the learners among all ranks: what all of them know is broadcast from there
  std::optional<ByRole<RoleMesh>> learners;  // the roles as the learners know each other; on these

  RoleMesh& of(const std::string& role) const { return *roles.at(role); }
  RoleMesh& policy() const { return of(kPolicyRole); }
};
/// **Collective** over the world.
RoleMeshes role_meshes(const RolePlaces& places, Meshes& meshes);

/// The ranks between which weights move from trainer to sampler: those of both. Ascending.
std::vector<int> mover_ranks(const std::vector<int>& trainer, const std::vector<int>& sampler);

}  // namespace roll
