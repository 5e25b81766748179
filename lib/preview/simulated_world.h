// A world of many ranks, and the smaller one whose plans stand for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dist/mesh.h"
#include "preview/traffic_forecast.h"
#include "settings/config.h"
#include "settings/memory_estimate.h"

namespace roll {

struct SimulatedWorld {
  Config planned, asked;        // the same where the world is small
  std::vector<int> asked_rank;  // of each planned rank
  int64_t num_asked = 1;
  PlannedModels models;
  Path path = Path::kHost;
  int64_t ranks_per_host = 8;

  int64_t num_planned() const { return std::ssize(asked_rank); }
  int64_t host_of_asked(int64_t rank) const { return rank / ranks_per_host; }
  int64_t host_of(int planned_rank) const { return host_of_asked(asked_rank[planned_rank]); }
};

/// A role's ranks: places and plans are those of the planned world, sizes of groups those of the asked one.
class RoleView {
 public:
  RoleView(const SimulatedWorld& world, const WorkerConfig& planned, const WorkerConfig& asked, MeshShape shape);

  const std::vector<int>& ranks() const { return planned_; }
  const MeshShape& shape() const { return shape_; }
  bool is_everywhere() const { return std::ssize(asked_) == world_.num_asked; }
  /// Of a planned rank among them; nullopt: none of them.
  std::optional<int64_t> index_of(int planned_rank) const;
  /// In the planned mesh, of the i-th rank.
  MeshPlace place(int64_t index) const { return mesh_place(index, shape_); }
  int64_t num_shards() const { return std::ssize(asked_) / shape_.tp; }

  /// Groups of the asked mesh, as the i-th planned rank sees them.
  Group all(int64_t index) const;
  Group dp(int64_t index) const;
  Group cp(int64_t index) const;
  Group tp(int64_t index) const;
  Group shards(int64_t index) const;

 private:
  template <class Key>
  Group group(int64_t index, std::string name, Member own, const Key& key) const;
  int64_t asked_index(int64_t index) const;

  const SimulatedWorld& world_;
  const std::vector<int>&planned_, &asked_;
  MeshShape shape_;
  std::string name_;
};

/// All ranks, as a planned one sees them.
Group world_group(const SimulatedWorld& world, int planned_rank);

}  // namespace roll
