// The ranks as a grid of data x context x tensor parallelism. Tensor ranks stand next to each other (they talk most, so
// they should share a host), then context ranks, then data ranks: rank = (dp_rank * cp + cp_rank) * tp + tp_rank.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "dist/communicator.h"

namespace roll {

struct MeshShape {
  int64_t cp = 1;  // ranks that share each sequence
  int64_t tp = 1;  // ranks that share each weight matrix
  auto operator<=>(const MeshShape&) const = default;
  int64_t model_ranks() const { return cp * tp; }
};

/// Where a rank stands in a grid.
struct MeshPlace {
  int64_t dp = 0, cp = 0, tp = 0;
};
MeshPlace mesh_place(int64_t rank, const MeshShape& shape);

class Mesh {
 public:
  /// **Collective** over `world`, which must outlive the mesh. Bug: its size is no multiple of cp * tp.
  Mesh(Communicator& world, MeshShape shape);

  const MeshShape& shape() const { return shape_; }
  int64_t dp_size() const { return world_.size() / shape_.model_ranks(); }
  const MeshPlace& place() const { return place_; }
  /// Whether this rank speaks for its group of cp * tp ranks, which compute the same results.
  bool is_leader() const { return place_.cp == 0 && place_.tp == 0; }

  Communicator& world() { return world_; }
  Communicator& dp() { return *dp_; }  // ranks that hold the same part of model and sequences
  Communicator& cp() { return *cp_; }
  Communicator& tp() { return *tp_; }
  Communicator& shards() { return *shards_; }  // dp x cp: ranks that hold the same weights

 private:
  Communicator& world_;
  MeshShape shape_;
  MeshPlace place_;
  std::unique_ptr<Communicator> dp_, cp_, tp_, shards_;
};

/// The meshes of a run, one for each shape that a role asks for.
class Meshes {
 public:
  explicit Meshes(Communicator& world) : world_(world) {}
  /// **Collective** where the shape is new. The mesh lives as long as this object.
  Mesh& of(const MeshShape& shape);
  Communicator& world() { return world_; }

 private:
  Communicator& world_;
  std::map<MeshShape, std::unique_ptr<Mesh>> meshes_;
};

}  // namespace roll
