// Describes which ranks hold which sequences of a step (a distribution), and moves data from one distribution to
// another by one all-to-all. Used between sampling, forward passes and training. All ranks know both distributions, so
// they need no requests. A group is a set of ranks that share one copy of a model, and so compute the same sequences.
// Legend: B sequences of the step, T tokens of this rank's sequences, N values per token.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "dist/mesh.h"
#include "experience/experience.h"
#include "packing/partition.h"

namespace roll {

/// Assignment of a step's sequences to the ranks of a communicator.
struct Distribution {
  std::vector<std::vector<int>> ranks;  // [group][i] ranks that all hold the group's sequences; groups are disjoint
  Partition shares;                     // [group][i] sequences (indices in the step), in the order of their tokens

  bool operator==(const Distribution&) const = default;
  /// Returns the sequences that a rank holds; empty if it is in no group.
  const std::vector<int64_t>& rank_share(int rank) const;
};

/// Returns [group][i]: a role's ranks by the copy of the model that they share. ranks: the role's ranks in any one
/// communicator, ascending; the result has the same numbers. shape: of the role's mesh.
std::vector<std::vector<int>> world_groups(const std::vector<int>& ranks, const MeshShape& shape);
/// Returns the same for a role's mesh, in ranks of role.world().
inline std::vector<std::vector<int>> world_groups(const RoleMesh& role) {
  return world_groups(role.ranks(), role.shape());
}
/// Returns the same for a mesh of `num_ranks` ranks, with their numbers 0, 1, ... in the mesh.
std::vector<std::vector<int>> mesh_groups(int64_t num_ranks, const MeshShape& shape);

/// Moves columns (values per token) from one distribution to another, and returns them over this rank's sequences in
/// `to`. columns: each [T] or [T, N] over this rank's sequences in `from`, contiguous, on the CPU; [0] or [0, N] if it
/// has none. lengths [B]: tokens of each sequence of the step. `to` may leave sequences out. ranks: the communicator
/// whose ranks both distributions name. name: label of the message in traffic reports. A rank keeps sequences that it
/// has, and gets each other one from one of the ranks that hold it. Throws Bug if no rank holds a sequence of `to`.
/// **Collective** over `ranks`.
std::vector<at::Tensor> redistribute(const std::vector<at::Tensor>& columns, const std::vector<int64_t>& lengths,
                                     const Distribution& from, const Distribution& to, Communicator& ranks,
                                     std::string_view name);

/// Does the same for an experience, which holds this rank's sequences in `from`: moves tokens, routed experts, masks,
/// and all [T] tensors that any rank defines. step: facts of all sequences. **Collective** over `ranks`.
Experience redistribute(const Experience& experience, const StepFacts& step, const Distribution& from,
                        const Distribution& to, Communicator& ranks);

}  // namespace roll
