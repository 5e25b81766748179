// Questions that any rank may have for the ranks of a role: each goes straight to those that answer it, and its answer
// straight back. Nobody holds all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "dist/mesh.h"
#include "packing/partition.h"

namespace roll {

/// What is asked and answered: token ids, bytes, bits of a float.
using Letter = std::vector<int32_t>;

struct Answering {
  /// [group of the role] which questions it answers; none may be in two groups, some may be in none. `lengths` [Q]: of
  /// the questions of all ranks, those of rank 0 first. Every rank gives the same.
  std::function<Partition(const std::vector<int64_t>& lengths)> share_out;
  /// Of the questions that are for this rank's group, in the order of its share. Called on all of the role's ranks;
  /// what a group's first rank says counts.
  std::function<std::vector<Letter>(const std::vector<Letter>& questions)> answer;
};

/// Answers to this rank's questions, in their order; nullopt where no group answers. `name` is for errors.
/// **Collective** over the role's world.
std::vector<std::optional<Letter>> inquire(const std::vector<Letter>& mine, RoleMesh& role, const Answering& answering,
                                           std::string_view name);

}  // namespace roll
