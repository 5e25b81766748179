// Sets of real numbers with constant bounds, for equal_trees.cpp: (0, 9) \cup (9, 36), x > 5, \mathbb{R} \setminus
// \{0\}, \{1\} \cup [2, 3).
#pragma once

#include <optional>
#include <vector>

#include "reward/math/limits.h"
#include "reward/math/node.h"

namespace roll::math {

struct Piece {
  long double low = 0, high = 0;
  bool low_open = false, high_open = false;
};

/// Disjoint pieces in ascending order.
using RealSet = std::vector<Piece>;

/// Returns the set that `node` describes, or nullopt if it describes none (symbolic bounds, several symbols, ...).
std::optional<RealSet> real_set(const Node& node, Deadline& deadline);

/// Returns whether the pieces are equal, with bounds compared to 12 digits.
bool same_set(const RealSet& a, const RealSet& b);

}  // namespace roll::math
