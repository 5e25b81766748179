#include "forecast/peer_count.h"

#include <algorithm>
#include <set>

#include "settings/placement.h"
#include "step/role_meshes.h"

namespace roll {

namespace {

using RoleShape = std::pair<std::vector<int>, MeshShape>;

/// Returns the distinct meshes of a run; the sampler's has no context ranks.
std::set<RoleShape> distinct_meshes(const Config& config) {
  std::set<RoleShape> meshes;
  for (const auto& [name, worker] : placed_roles(config)) {
    MeshShape shape = mesh_shape(*worker);
    if (worker == &config.actor_infer) shape.cp = 1;
    meshes.insert({worker->ranks, shape});
  }
  return meshes;
}

/// Returns the distinct proper subsets of ranks that have a communicator.
std::set<std::vector<int>> rank_subsets(const Config& config, const std::set<RoleShape>& meshes, int64_t num_ranks) {
  std::set<std::vector<int>> sets;
  for (const auto& [ranks, shape] : meshes) sets.insert(ranks);
  if (!shares_weights(config)) sets.insert(mover_ranks(config.actor_train.ranks, config.actor_infer.ranks));
  std::erase_if(sets, [&](const auto& ranks) { return std::ssize(ranks) == num_ranks; });
  return sets;
}

}  // namespace

int64_t most_sockets(const Config& config, int64_t num_ranks) {
  const auto meshes = distinct_meshes(config);
  std::vector<int64_t> sockets(num_ranks, num_ranks - 1);
  for (const auto& ranks : rank_subsets(config, meshes, num_ranks)) {
    // The remaining ranks form a group too.
    for (int64_t rank = 0; rank < num_ranks; ++rank) {
      const bool is_in = std::ranges::binary_search(ranks, static_cast<int>(rank));
      sockets[rank] += (is_in ? std::ssize(ranks) : num_ranks - std::ssize(ranks)) - 1;
    }
  }
  for (const auto& [ranks, shape] : meshes) {
    const int64_t shards = std::ssize(ranks) / (shape.tp * shape.pp), dp = shards / shape.cp;
    const int64_t expert_peers = shape.ep == 1 ? 0 : shape.ep - 1 + shards / shape.ep - 1;
    const int64_t neighbours = shape.ring ? 2 : std::min<int64_t>(2, shape.pp - 1);
    const int64_t stage_peers = shape.pp == 1 ? 0 : shape.pp - 1 + 1 + 2 * neighbours;
    for (const int rank : ranks)
      sockets[rank] += dp - 1 + shape.cp - 1 + shape.tp - 1 + shards - 1 + expert_peers + stage_peers;
  }
  return std::ranges::max(sockets);
}

}  // namespace roll
