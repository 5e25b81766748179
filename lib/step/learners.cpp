#include "step/learners.h"

#include <algorithm>

#include "base/error.h"
#include "dist/merged_metrics.h"
#include "dist/messages.h"
#include "records/messages.h"
#include "settings/placement.h"

namespace roll {

Learners::Learners(const Config& config, Meshes& meshes, const RoleMeshes& roles) {
  const std::vector<int> members = learner_ranks(config);
  world_ = &meshes.of(members, {});
  ranks_ = meshes.group(members);
  if (!ranks_) return;
  const auto among_learners = [&](const RoleMesh& role) { return role.within(*ranks_, members); };
  actor_.emplace(among_learners(roles.actor));
  reference_.emplace(among_learners(roles.reference));
  critic_.emplace(among_learners(roles.critic));
}

LearnerMeshes Learners::meshes() {
  ROLL_CHECK(is_here(), "only learners learn");
  return {*actor_, *reference_, *critic_};
}

Metrics Learners::broadcast(const Metrics& metrics) {
  return broadcast_metrics(*world_, metrics);
}

Json Learners::broadcast(const Json& state, std::string_view name) {
  return broadcast_message(StateMessage{state}, *world_, name).state;
}

}  // namespace roll
