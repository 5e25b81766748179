// Where the sequences of a step are, and how they get from one place to the next: one all-to-all of what each rank
// wants, straight from a rank that has it. All follows from facts that every rank knows, so nobody is asked.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "dist/mesh.h"
#include "experience/experience.h"
#include "packing/partition.h"

namespace roll {

/// Sequences of a step on ranks of a communicator. The ranks of a group have the same ones (they share a model).
struct Distribution {
  std::vector<std::vector<int>> ranks;  // [group] disjoint
  Partition shares;                     // [group] sequences, in the order in which they are packed there

  bool operator==(const Distribution&) const = default;
  /// Those that a rank has; none where it is in no group.
  const std::vector<int64_t>& share_of(int rank) const;
};

/// The groups of a role's mesh that share a model, as ranks of the world: `ranks` are the role's.
std::vector<std::vector<int>> world_groups(const std::vector<int>& ranks, const MeshShape& shape);
inline std::vector<std::vector<int>> world_groups(const RoleMesh& role) {
  return world_groups(role.ranks(), role.shape());
}
/// Of a mesh of so many ranks, as its own ranks.
std::vector<std::vector<int>> mesh_groups(int64_t num_ranks, const MeshShape& shape);

/// `columns`: [T] or [T, N] each over this rank's sequences in `from`; where it has none, [0] or [0, N].
/// `lengths` [B]: tokens of each sequence. Returns the columns over this rank's sequences in `to`; a sequence may be
/// wanted by nobody. A rank that had a sequence keeps its own copy; what a group wants goes to each of its ranks once,
/// from ranks of the group that has it in turn. Bug: nobody has what is wanted. **Collective** over `ranks`, which the
/// distributions name.
std::vector<at::Tensor> redistribute(const std::vector<at::Tensor>& columns, const std::vector<int64_t>& lengths,
                                     const Distribution& from, const Distribution& to, Communicator& ranks,
                                     std::string_view name);

/// What is here of a step, from one distribution to another: tokens with their experts, masks and all [T] tensors that
/// are defined anywhere. **Collective** over `ranks`.
Experience redistribute(const Experience& here, const StepFacts& step, const Distribution& from, const Distribution& to,
                        Communicator& ranks);

}  // namespace roll
