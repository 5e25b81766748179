#include "preview/simulated_world.h"

#include <algorithm>

#include "base/ranges.h"

namespace roll {

namespace {

std::optional<int64_t> position_in(const std::vector<int>& ranks, int rank) {
  const auto found = std::ranges::lower_bound(ranks, rank);
  return found != ranks.end() && *found == rank ? std::optional<int64_t>(found - ranks.begin()) : std::nullopt;
}

}  // namespace

RoleView::RoleView(const SimulatedWorld& world, const WorkerConfig& planned, const WorkerConfig& asked, MeshShape shape)
    : world_(world),
      planned_(planned.ranks),
      asked_(asked.ranks),
      shape_(shape),
      name_(is_everywhere() ? "world" : "ranks " + ranges_text(asked.ranks)) {}

std::optional<int64_t> RoleView::index_of(int planned_rank) const {
  return position_in(planned_, planned_rank);
}

int64_t RoleView::asked_index(int64_t index) const {
  return *position_in(asked_, world_.asked_rank[planned_[index]]);
}

/// Members have equal keys; those on the rank's own host are few enough to be looked at.
template <class Key>
Group RoleView::group(int64_t index, std::string name, Member own, const Key& key) const {
  Group group{std::move(name), own, 0};
  if (own.size == 1) return group;
  const int64_t mine = asked_index(index), host = world_.host_of(planned_[index]);
  const auto begin = static_cast<int>(host * world_.ranks_per_host);
  group.num_near = -1;  // without itself
  for (auto rank = std::ranges::lower_bound(asked_, begin); rank != asked_.end(); ++rank) {
    if (*rank >= begin + world_.ranks_per_host) break;
    group.num_near += key(mesh_place(rank - asked_.begin(), shape_)) == key(mesh_place(mine, shape_));
  }
  return group;
}

Group RoleView::all(int64_t index) const {
  return group(index, name_, {std::ssize(asked_), asked_index(index)}, [](const MeshPlace&) { return 0; });
}
Group RoleView::dp(int64_t index) const {
  const int64_t own = mesh_place(asked_index(index), shape_).dp;
  return group(index, "dp", {std::ssize(asked_) / shape_.model_ranks(), own},
               [this](const MeshPlace& p) { return p.cp * shape_.tp + p.tp; });
}
Group RoleView::cp(int64_t index) const {
  return group(index, "cp", {shape_.cp, place(index).cp},
               [this](const MeshPlace& p) { return p.dp * shape_.tp + p.tp; });
}
Group RoleView::tp(int64_t index) const {
  return group(index, "tp", {shape_.tp, place(index).tp},
               [this](const MeshPlace& p) { return p.dp * shape_.cp + p.cp; });
}
Group RoleView::shards(int64_t index) const {
  const MeshPlace own = mesh_place(asked_index(index), shape_);
  return group(index, "shards", {num_shards(), own.dp * shape_.cp + own.cp}, [](const MeshPlace& p) { return p.tp; });
}

Group world_group(const SimulatedWorld& world, int planned_rank) {
  const int64_t rank = world.asked_rank[planned_rank], begin = world.host_of(planned_rank) * world.ranks_per_host;
  const int64_t here = std::min(world.ranks_per_host, world.num_asked - begin);
  return {"world", {world.num_asked, rank}, here - 1};
}

}  // namespace roll
