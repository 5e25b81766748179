// Rewrites parsed answers (trees, node.h) before equal_trees.h compares them.
#pragma once

#include "reward/math/node.h"

namespace roll::math {

/// Replaces "a +- b" by its two values: one with all upper signs, one with all lower signs. In a tuple, set or list,
/// each element with +- becomes two elements; any other node becomes a list of two. Returns a node without +-
/// unchanged.
Node expanded(const Node& node);

/// Returns 2M, M/2 or -M, with M a matrix node, as a matrix with this operation in each cell; any other node unchanged.
Node with_factor_inside(const Node& node);

/// Returns `node` with every angle in degrees (a kDegrees node) converted to radians.
Node in_radians(const Node& node);

}  // namespace roll::math
