// Rewrites parsed answers (trees, node.h) before equal_trees.h compares them.
#pragma once

#include "reward/math/node.h"

namespace roll::math {

/// Returns the node with both values of every "a +- b": an element of a tuple, set or list becomes two elements, all
/// upper signs and all lower signs; any other node becomes a list of two. A node without +- is returned unchanged.
Node expanded(const Node& node);

/// Returns a matrix that is multiplied, divided or negated as one matrix, with that operation in each cell; any other
/// node unchanged.
Node with_factor_inside(const Node& node);

/// Returns `node` with every angle in degrees (a kDegrees node) converted to radians.
Node in_radians(const Node& node);

}  // namespace roll::math
