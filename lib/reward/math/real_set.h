// Sets of real numbers with constant bounds, for equal_trees.cpp: (0, 9) \cup (9, 36), x > 5, \mathbb{R} \setminus
// \{0\}, \{1\} \cup [2, 3).
#pragma once

#include <optional>
#include <vector>

#include "reward/math/limits.h"
#include "reward/math/node.h"

namespace roll::math {

/// An interval, or a single number if low == high.
struct Piece {
  long double low = 0, high = 0;             // may be infinite
  bool low_open = false, high_open = false;  // true: the bound is not in the interval
};

/// Disjoint intervals in ascending order; without elements: the empty set.
using RealSet = std::vector<Piece>;

/// Returns the set of real numbers that `node` describes: an interval, a set, relations that bound one symbol, or
/// unions and differences of these. Returns nullopt for other nodes, such as with symbolic bounds or several symbols.
/// Throws TimeLimitPassed if the deadline passes.
std::optional<RealSet> real_set(const Node& node, Deadline& deadline);

/// Returns whether the sets are equal; bounds may differ by 1e-12, absolutely or relatively.
bool same_set(const RealSet& a, const RealSet& b);

}  // namespace roll::math
