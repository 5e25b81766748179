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

/// Of plans of batches, [batch][data rank][micro-batch], what each data rank has, in the order in which it is packed.
Partition shares_of(const std::vector<std::vector<Partition>>& batches);
/// The micro-batches of a data rank whose only plan this is, as places in its share.
Partition places_in_share(const Partition& plan);

/// Who sends whom what.
class RedistributionPlan {
 public:
  /// `lengths` [B]: tokens of each sequence. The distributions must outlive this. A sequence may be wanted by nobody.
  RedistributionPlan(const std::vector<int64_t>& lengths, const Distribution& from, const Distribution& to);

  /// From whom rank `to` gets a sequence: itself where it has it. Bug: nobody has it.
  int sender(int64_t sequence, int to) const;

  struct Message {
    int from = 0, to = 0;
    int64_t tokens = 0;
  };
  /// All between different ranks, by receiver.
  std::vector<Message> messages() const;

 private:
  const std::vector<int64_t>& lengths_;
  const Distribution &from_, &to_;
  std::vector<int64_t> holder_;  // [B] group of `from`; -1: nobody
};

class Redistribution {
 public:
  /// As RedistributionPlan. `ranks`: the communicator whose ranks the distributions name; it must outlive this, too.
  Redistribution(const std::vector<int64_t>& lengths, const Distribution& from, const Distribution& to,
                 Communicator& ranks);

  /// `columns`: [T] each over this rank's sequences in `from`, of 4 bytes an element; where it has none, empty ones.
  /// The same over its sequences in `to`. A rank that had a sequence keeps its own copy; what a group wants goes to
  /// each of its ranks once, from ranks of the group that has it in turn. **Collective**.
  std::vector<at::Tensor> redistribute(const std::vector<at::Tensor>& columns, std::string_view name) const;

  /// Bytes that a column of 4 bytes a token makes this rank send to others.
  int64_t bytes_sent() const;

 private:
  const std::vector<int64_t>& lengths_;
  const Distribution &from_, &to_;
  Communicator& ranks_;
  RedistributionPlan plan_;
};

/// What is here of a step, from one distribution to another: tokens, masks and all [T] tensors that are defined
/// anywhere. **Collective** over `ranks`.
Experience redistribute(const Experience& here, const StepFacts& step, const Distribution& from, const Distribution& to,
                        Communicator& ranks);

}  // namespace roll
