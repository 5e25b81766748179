// The ranks that train, or compute what training needs, as a world of their own: while sampling runs ahead, they work
// without the ranks that sample. Otherwise they are all ranks.
#pragma once

#include "step/redistribution.h"
#include "step/roles.h"
#include "track/metrics.h"

namespace roll {

/// The roles that learn, as the learners know each other.
struct LearnerMeshes {
  RoleMesh &actor, &reference, &critic;
};

class Learners {
 public:
  /// **Collective** over the world.
  Learners(const Config& config, Meshes& meshes, const RoleMeshes& roles);

  bool is_here() const { return ranks_ != nullptr; }
  /// Bug: not here.
  LearnerMeshes meshes();
  /// What all learners know becomes known to all ranks. **Collective** over the world.
  Metrics broadcast(const Metrics& metrics);
  Json broadcast(const Json& state, std::string_view name);

 private:
  RoleMesh* world_;      // the learners among all ranks
  Communicator* ranks_;  // of the learners; null: not one of them
  std::optional<RoleMesh> actor_, reference_, critic_;
};

}  // namespace roll
