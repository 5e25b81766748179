// The ranks as a grid of data x pipeline x context x tensor parallelism. Tensor ranks stand next to each other (they
// talk most, so they should share a host), then context ranks, then the stages of a pipeline, then data ranks:
// rank = ((dp_rank * pp + stage) * cp + cp_rank) * tp + tp_rank. Of the dp x cp ranks that hold the same weights, each
// ep neighbours share the experts of a mixture out instead.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dist/communicator.h"

namespace roll {

struct MeshShape {
  int64_t cp = 1;     // ranks that share each sequence
  int64_t tp = 1;     // ranks that share each weight matrix
  int64_t ep = 1;     // ranks that share the experts, of those with the same part of all else; divides dp x cp
  int64_t pp = 1;     // stages, each of which has some of the layers
  bool ring = false;  // the last stage is followed by the first: each has several chunks of layers
  auto operator<=>(const MeshShape&) const = default;
  int64_t stage_ranks() const { return cp * tp; }
  int64_t model_ranks() const { return pp * stage_ranks(); }
};

/// Where a rank stands in a grid.
struct MeshPlace {
  int64_t dp = 0, cp = 0, tp = 0, pp = 0;
};
MeshPlace mesh_place(int64_t rank, const MeshShape& shape);

/// Two neighbouring stages' ways to each other: [2] ranks each.
struct StageLink {
  std::unique_ptr<Communicator> activations, gradients;
};

class Mesh {
 public:
  /// **Collective** over `world`, which must outlive the mesh. Bug: its size is no multiple of pp * cp * tp, or of
  /// ep * pp * tp.
  Mesh(Communicator& world, MeshShape shape);

  const MeshShape& shape() const { return shape_; }
  int64_t dp_size() const { return world_.size() / shape_.model_ranks(); }
  const MeshPlace& place() const { return place_; }
  /// Whether this rank speaks for its group of pp * cp * tp ranks: it is the first of those that compute results.
  bool is_leader() const { return place_.cp == 0 && place_.tp == 0 && place_.pp == shape_.pp - 1; }

  Communicator& world() { return world_; }
  Communicator& dp() { return *dp_; }  // ranks that hold the same part of model and sequences
  Communicator& cp() { return *cp_; }
  Communicator& tp() { return *tp_; }
  Communicator& shards() { return *shards_; }         // dp x cp: ranks that hold the same weights, beside experts
  Communicator* experts() { return experts_.get(); }  // ep ranks that share the experts; null where that is one
  Communicator& expert_shards() { return expert_shards_ ? *expert_shards_ : *shards_; }  // hold the same experts
  // Of several stages:
  Communicator& pp() { return *pp_; }                // all stages, for the same part of weights and sequences
  Communicator& pipeline_ends() { return *ends_; }   // the first and the last
  StageLink& next_stage() { return next_; }          // not of the last, but in a ring
  StageLink& previous_stage() { return previous_; }  // not of the first, likewise

 private:
  void link_stages();

  Communicator& world_;
  MeshShape shape_;
  MeshPlace place_;
  std::unique_ptr<Communicator> dp_, cp_, tp_, shards_, experts_, expert_shards_, pp_, ends_;
  StageLink next_, previous_;
};

/// Some ranks of a world, and their mesh. Every rank of the world has one, so that all know who is who; only those
/// ranks have the mesh.
class RoleMesh {
 public:
  /// `own`: the communicator of `ranks` (ascending) on those ranks, null elsewhere. **Collective** over `ranks`.
  RoleMesh(Communicator& world, std::vector<int> ranks, Communicator* own, MeshShape shape);
  /// This mesh with its ranks named as those of `part`, a communicator of `members` (ascending ranks of the world, the
  /// role's among them).
  RoleMesh within(Communicator& part, const std::vector<int>& members) const;

  bool is_here() const { return mesh_ != nullptr; }
  bool is_everywhere() const { return std::ssize(ranks_) == world_.size(); }
  const std::vector<int>& ranks() const { return ranks_; }
  const MeshShape& shape() const { return shape_; }
  /// Groups of ranks that share a model.
  int64_t dp_size() const { return std::ssize(ranks_) / shape_.model_ranks(); }
  /// Bug: not here.
  Mesh& mesh();
  Communicator& world() { return world_; }

  /// What all its ranks know becomes known to all ranks (bytes: dist/messages.h); elsewhere `tensor` is only a place
  /// for it. **Collective** over the world.
  void broadcast(at::Tensor& tensor, std::string_view name);

 private:
  Communicator& world_;
  std::vector<int> ranks_;
  MeshShape shape_;
  std::shared_ptr<Mesh> mesh_;  // on those ranks
};

/// The meshes of a run, one for each set of ranks and shape that a role asks for.
class Meshes {
 public:
  explicit Meshes(Communicator& world) : world_(world) {}
  /// Of all ranks. **Collective** where the shape is new. The mesh lives as long as this object.
  Mesh& of(const MeshShape& shape);
  /// Of some, ascending. **Collective** over the world where they or the shape are new.
  RoleMesh& of(const std::vector<int>& ranks, const MeshShape& shape);
  /// A communicator of `ranks`, ascending, on those ranks; null elsewhere. **Collective** over the world where new.
  Communicator* group(const std::vector<int>& ranks);
  Communicator& world() { return world_; }

 private:
  Communicator& world_;
  std::map<std::vector<int>, std::unique_ptr<Communicator>> groups_;
  std::map<std::pair<std::vector<int>, MeshShape>, std::unique_ptr<RoleMesh>> meshes_;
};

}  // namespace roll
