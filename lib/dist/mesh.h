// Arranges ranks in a grid of data (dp) x pipeline (pp) x context (cp) x tensor (tp) parallelism, with communicators
// for each dimension. Tensor ranks are adjacent (they communicate most, so they should share a host), then context
// ranks, pipeline stages and data ranks: rank = ((dp_rank * pp + stage) * cp + cp_rank) * tp + tp_rank. The dp x cp
// ranks with equal (stage, tp_rank) hold the same weights, apart from a mixture's experts. Each ep successive ones of
// these ranks split the experts (ep: expert parallelism).
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

/// Numbers of ranks in each dimension; dp follows from the number of all ranks.
struct MeshShape {
  int64_t cp = 1;     // ranks that split each sequence
  int64_t tp = 1;     // ranks that split each weight matrix
  int64_t ep = 1;     // ranks that split the experts and hold the same other weights; divides dp * cp
  int64_t pp = 1;     // pipeline stages; each has some of the layers
  bool ring = false;  // a stage has several separate chunks of layers, so the last stage also sends to the first
  auto operator<=>(const MeshShape&) const = default;
  /// Returns the number of ranks of one stage of one model copy.
  int64_t stage_ranks() const { return cp * tp; }
  /// Returns the number of ranks of one model copy.
  int64_t model_ranks() const { return pp * stage_ranks(); }
};

/// Coordinates of a rank in the grid.
struct MeshPlace {
  int64_t dp = 0, cp = 0, tp = 0, pp = 0;  // each from 0; pp is the stage
};
/// Returns the coordinates of `rank`, by the formula for rank at the top.
MeshPlace mesh_place(int64_t rank, const MeshShape& shape);

/// Communicators of two ranks in neighbouring stages: for activations, and for the gradients that go back.
struct StageLink {
  std::unique_ptr<Communicator> activations, gradients;
};

/// The grid of one role's ranks, seen from this rank.
class Mesh {
 public:
  /// Arranges all ranks of `world`, which must outlive the mesh. **Collective** over `world`. Throws Bug if the size of
  /// `world` is not a multiple of both pp * cp * tp and ep * pp * tp.
  Mesh(Communicator& world, MeshShape shape);

  const MeshShape& shape() const { return shape_; }
  /// Returns the number of model copies, each with its own sequences.
  int64_t dp_size() const { return world_.size() / shape_.model_ranks(); }
  /// Returns this rank's coordinates.
  const MeshPlace& place() const { return place_; }
  /// Returns true on one rank of each model copy: the first rank of the last stage, which computes results.
  bool is_leader() const { return place_.cp == 0 && place_.tp == 0 && place_.pp == shape_.pp - 1; }

  Communicator& world() { return world_; }
  // Communicators that include this rank. They live as long as the mesh.
  Communicator& dp() { return *dp_; }  // ranks with equal (stage, cp, tp)
  Communicator& cp() { return *cp_; }  // ranks that split the same sequences
  Communicator& tp() { return *tp_; }  // ranks that split the same weight matrices
  /// The dp x cp ranks with the same weights, apart from experts.
  Communicator& shards() { return *shards_; }
  /// The ep ranks that split the experts; nullptr if ep is 1.
  Communicator* experts() { return experts_.get(); }
  /// The dp x cp / ep ranks with the same experts; shards() if ep is 1.
  Communicator& expert_shards() { return expert_shards_ ? *expert_shards_ : *shards_; }
  // Only if pp > 1:
  Communicator& pp() { return *pp_; }                // ranks of all stages with equal (dp, cp, tp)
  Communicator& pipeline_ends() { return *ends_; }   // first and last stage of pp(); only for ranks in these two
  StageLink& next_stage() { return next_; }          // null communicators in the last stage, unless in a ring
  StageLink& previous_stage() { return previous_; }  // null communicators in the first stage, unless in a ring

 private:
  void link_stages();

  Communicator& world_;
  MeshShape shape_;
  MeshPlace place_;
  std::unique_ptr<Communicator> dp_, cp_, tp_, shards_, experts_, expert_shards_, pp_, ends_;
  StageLink next_, previous_;
};

/// The ranks of a world that a role (actor_train, ...) uses, and their mesh. Every rank of the world has such an
/// object, so that all know the role's ranks; only the role's ranks have the mesh.
class RoleMesh {
 public:
  /// `ranks`: the role's ranks of `world`, ascending. `role_ranks`: their communicator, nullptr on other ranks. Both
  /// communicators must outlive the object. **Collective** over `ranks`.
  RoleMesh(Communicator& world, std::vector<int> ranks, Communicator* role_ranks, MeshShape shape);
  /// Returns the same role in a smaller world. `part`: the smaller world's communicator. `members`: its ranks in this
  /// world, ascending; they must include all ranks of the role. Not collective. Throws Bug if a rank of the role is not
  /// in `members`.
  RoleMesh within(Communicator& part, const std::vector<int>& members) const;

  /// Returns true if this rank is one of the role's.
  bool is_here() const { return mesh_ != nullptr; }
  /// Returns true if all ranks of the world are the role's.
  bool is_everywhere() const { return std::ssize(ranks_) == world_.size(); }
  const std::vector<int>& ranks() const { return ranks_; }
  const MeshShape& shape() const { return shape_; }
  /// Returns the number of model copies, each with its own sequences.
  int64_t dp_size() const { return std::ssize(ranks_) / shape_.model_ranks(); }
  /// Returns the mesh; throws Bug if not is_here().
  Mesh& mesh();
  Communicator& world() { return world_; }

  /// Copies a tensor that is equal on all ranks of the role into `tensor` on the other ranks, where it must have the
  /// same shape and dtype. **Collective** over the world. For messages: broadcast_message() in messages.h.
  void broadcast(at::Tensor& tensor, std::string_view name);

 private:
  Communicator& world_;
  std::vector<int> ranks_;
  MeshShape shape_;
  std::shared_ptr<Mesh> mesh_;  // null on other ranks
};

/// All meshes of a run, made at the first call with their arguments; roles with the same ranks and shape share one.
/// Results live as long as this object. All ranks of the world must make the same calls in the same order, because a
/// first call is **Collective** over the world.
class Meshes {
 public:
  explicit Meshes(Communicator& world) : world_(world) {}
  /// Returns the mesh of all ranks of the world.
  Mesh& of(const MeshShape& shape);
  /// Returns the mesh of `ranks`, ascending ranks of the world.
  RoleMesh& of(const std::vector<int>& ranks, const MeshShape& shape);
  /// Returns a communicator of `ranks`, ascending ranks of the world; nullptr on ranks that are not among them.
  Communicator* group(const std::vector<int>& ranks);
  Communicator& world() { return world_; }

 private:
  Communicator& world_;
  std::map<std::vector<int>, std::unique_ptr<Communicator>> groups_;
  std::map<std::pair<std::vector<int>, MeshShape>, std::unique_ptr<RoleMesh>> meshes_;
};

}  // namespace roll
