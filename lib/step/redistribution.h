// Tracks which ranks hold which sequences of a step, and moves them by one all-to-all. All ranks know the distributions
// from facts, so no requests are needed.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "dist/mesh.h"
#include "experience/experience.h"
#include "packing/partition.h"

namespace roll {

/// Sequences of a step on the ranks of a communicator. The ranks of a group share a model and hold the same sequences.
struct Distribution {
  std::vector<std::vector<int>> ranks;  // [group] disjoint
  Partition shares;                     // [group] sequences, in packed order

  bool operator==(const Distribution&) const = default;
  /// Returns the sequences on a rank; empty if it is in no group.
  const std::vector<int64_t>& rank_share(int rank) const;
};

/// Returns a role's groups of ranks that share a model, as world ranks. `ranks`: the role's world ranks.
std::vector<std::vector<int>> world_groups(const std::vector<int>& ranks, const MeshShape& shape);
inline std::vector<std::vector<int>> world_groups(const RoleMesh& role) {
  return world_groups(role.ranks(), role.shape());
}
/// Returns the groups of ranks that share a model in a mesh of `num_ranks`.
std::vector<std::vector<int>> mesh_groups(int64_t num_ranks, const MeshShape& shape);

/// Moves columns from one distribution to another and returns them over this rank's sequences in `to`. `columns`: each
/// [T] or [T, N] over this rank's sequences in `from`; [0] or [0, N] if it has none. `lengths` [B]: tokens of each
/// sequence. A rank keeps its own copies; others are sent once to each rank of the receiving group, spread over the
/// holding group's ranks. `to` may leave sequences out. Bug: no rank holds a wanted sequence. **Collective** over
/// `ranks`, whose ranks the distributions name.
std::vector<at::Tensor> redistribute(const std::vector<at::Tensor>& columns, const std::vector<int64_t>& lengths,
                                     const Distribution& from, const Distribution& to, Communicator& ranks,
                                     std::string_view name);

/// Moves an experience from one distribution to another: tokens, routed experts, masks, and all [T] tensors that any
/// rank defines. **Collective** over `ranks`.
Experience redistribute(const Experience& experience, const StepFacts& step, const Distribution& from,
                        const Distribution& to, Communicator& ranks);

}  // namespace roll
