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
  ByRole<RoleMesh*> roles;
  for (const auto& [role, place] : places.roles) roles.emplace(role, &meshes.of(place.ranks, place.shape));
  RoleMesh& sampler = meshes.of(places.sampler.ranks, places.sampler.shape);
  Communicator* const movers =
      places.sampler_copies.empty() ? nullptr : meshes.group(mover_ranks(places.policy().ranks, places.sampler.ranks));
  RoleMeshes all{std::move(roles), sampler, movers, meshes.of(places.learners, {}), {}};
  Communicator* const learners = meshes.group(places.learners);
  if (!learners) return all;
  all.roles_among_learners.emplace();
  for (const auto& [role, mesh] : all.roles)
    all.roles_among_learners->emplace(role, mesh->within(*learners, places.learners));
  return all;
}

}  // namespace roll
