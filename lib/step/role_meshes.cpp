#include "step/role_meshes.h"

#include <algorithm>
#include <iterator>

namespace roll {

std::vector<int> mover_ranks(const std::vector<int>& trainer, const std::vector<int>& sampler) {
  std::vector<int> movers;
  std::ranges::set_union(trainer, sampler, std::back_inserter(movers));
  return movers;
}

RoleMeshes role_meshes(const RolePlaces& places, Meshes& meshes) {
  const auto mesh_of = [&](const RolePlace& place) -> RoleMesh& { return meshes.of(place.ranks, place.shape); };
  RoleMesh& actor = mesh_of(places.actor);
  std::vector<RoleMesh*> references;
  for (const RolePlace& place : places.references) references.push_back(&mesh_of(place));
  RoleMesh& critic = mesh_of(places.critic);
  RoleMesh& sampler = mesh_of(places.sampler);
  Communicator* const movers =
      places.sampler_copies.empty() ? nullptr : meshes.group(mover_ranks(places.actor.ranks, places.sampler.ranks));
  RoleMeshes roles{actor, critic, sampler, std::move(references), movers, meshes.of(places.learners, {}), {}};
  Communicator* const learners = meshes.group(places.learners);
  const auto among_learners = [&](const RoleMesh& role) { return role.within(*learners, places.learners); };
  if (!learners) return roles;
  roles.learners.emplace(LearnerMeshes{among_learners(actor), among_learners(critic), {}});
  for (const RoleMesh* reference : roles.references) roles.learners->references.push_back(among_learners(*reference));
  return roles;
}

}  // namespace roll
