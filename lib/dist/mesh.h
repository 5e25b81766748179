// Arranges ranks in a grid of data x pipeline x context x tensor parallelism. Tensor ranks are adjacent (they
// communicate most, so they should share a host), then context ranks, pipeline stages and data ranks:
// rank = ((dp_rank * pp + stage) * cp + cp_rank) * tp + tp_rank. Among the dp x cp ranks with the same weights, each ep
// adjacent ones split the experts instead.
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
  int64_t cp = 1;     // ranks that split each sequence
  int64_t tp = 1;     // ranks that split each weight matrix
  int64_t ep = 1;     // ranks that split the experts and hold the same other weights; divides dp x cp
  int64_t pp = 1;     // pipeline stages; each has some of the layers
  bool ring = false;  // interleaved stages: several chunks of layers each; a link from the last to the first
  auto operator<=>(const MeshShape&) const = default;
  int64_t stage_ranks() const { return cp * tp; }
  int64_t model_ranks() const { return pp * stage_ranks(); }
};

/// Coordinates of a rank in the grid.
struct MeshPlace {
  int64_t dp = 0, cp = 0, tp = 0, pp = 0;
};
MeshPlace mesh_place(int64_t rank, const MeshShape& shape);

/// Communicators between two neighbouring stages, [2] ranks each.
struct StageLink {
  std::unique_ptr<Communicator> activations, gradients;
};

class Mesh {
 public:
  /// **Collective** over `world`, which must outlive the mesh. Bug: its size is no multiple of pp * cp * tp, or of ep *
  /// pp * tp.
  Mesh(Communicator& world, MeshShape shape);

  const MeshShape& shape() const { return shape_; }
  int64_t dp_size() const { return world_.size() / shape_.model_ranks(); }
  const MeshPlace& place() const { return place_; }
  /// Returns true on one rank of each pp * cp * tp group: the first that computes results (in the last stage).
  bool is_leader() const { return place_.cp == 0 && place_.tp == 0 && place_.pp == shape_.pp - 1; }

  Communicator& world() { return world_; }
  Communicator& dp() { return *dp_; }  // ranks with the same part of model and sequences
  Communicator& cp() { return *cp_; }
  Communicator& tp() { return *tp_; }
  Communicator& shards() { return *shards_; }         // dp x cp ranks with the same weights, except experts
  Communicator* experts() { return experts_.get(); }  // ep ranks that split the experts; null if ep is 1
  Communicator& expert_shards() { return expert_shards_ ? *expert_shards_ : *shards_; }  // ranks with the same experts
  // With several stages only:
  Communicator& pp() { return *pp_; }                // all stages, for the same part of weights and sequences
  Communicator& pipeline_ends() { return *ends_; }   // the first and the last stage
  StageLink& next_stage() { return next_; }          // unset in the last stage, unless in a ring
  StageLink& previous_stage() { return previous_; }  // unset in the first stage, unless in a ring

 private:
  void link_stages();

  Communicator& world_;
  MeshShape shape_;
  MeshPlace place_;
  std::unique_ptr<Communicator> dp_, cp_, tp_, shards_, experts_, expert_shards_, pp_, ends_;
  StageLink next_, previous_;
};

/// Some ranks of a world, and their mesh. Every rank of the world has this object, so that all know the role's ranks;
/// only the role's ranks have the mesh.
class RoleMesh {
 public:
  /// `role_ranks`: communicator of `ranks` (ascending) on those ranks, null elsewhere. **Collective** over `ranks`.
  RoleMesh(Communicator& world, std::vector<int> ranks, Communicator* role_ranks, MeshShape shape);
  /// Returns this mesh with ranks numbered as in `part`, a communicator of `members` (ascending ranks of the world that
  /// include the role's).
  RoleMesh within(Communicator& part, const std::vector<int>& members) const;

  bool is_here() const { return mesh_ != nullptr; }
  bool is_everywhere() const { return std::ssize(ranks_) == world_.size(); }
  const std::vector<int>& ranks() const { return ranks_; }
  const MeshShape& shape() const { return shape_; }
  /// Returns the number of groups of ranks that share a model.
  int64_t dp_size() const { return std::ssize(ranks_) / shape_.model_ranks(); }
  /// Bug: this rank is not in the role.
  Mesh& mesh();
  Communicator& world() { return world_; }

  /// Copies a tensor that all ranks of the role have to all ranks of the world; elsewhere `tensor` is only the buffer.
  /// **Collective** over the world. For bytes, see dist/messages.h.
  void broadcast(at::Tensor& tensor, std::string_view name);

 private:
  Communicator& world_;
  std::vector<int> ranks_;
  MeshShape shape_;
  std::shared_ptr<Mesh> mesh_;  // null on other ranks
};

/// All meshes of a run, one for each set of ranks and shape that a role uses.
class Meshes {
 public:
  explicit Meshes(Communicator& world) : world_(world) {}
  /// Returns the mesh of all ranks; it lives as long as this object. **Collective** if the shape is new.
  Mesh& of(const MeshShape& shape);
  /// Returns the mesh of `ranks`, ascending. **Collective** over the world if ranks or shape are new.
  RoleMesh& of(const std::vector<int>& ranks, const MeshShape& shape);
  /// Returns a communicator of `ranks`, ascending; null on other ranks. **Collective** over the world if they are new.
  Communicator* group(const std::vector<int>& ranks);
  Communicator& world() { return world_; }

 private:
  Communicator& world_;
  std::map<std::vector<int>, std::unique_ptr<Communicator>> groups_;
  std::map<std::pair<std::vector<int>, MeshShape>, std::unique_ptr<RoleMesh>> meshes_;
};

}  // namespace roll
