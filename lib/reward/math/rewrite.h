// Rewrites trees before comparison: both values of +-, factors moved into matrices, angles in radians.
#pragma once

#include "reward/math/node.h"

namespace roll::math {

/// Returns the node with each "a +- b" element replaced by its two values.
Node expanded(const Node& node);

/// Returns a matrix with its factor, divisor or sign moved into the cells; other nodes unchanged.
Node with_factor_inside(const Node& node);

/// Returns `node` with angles in degrees converted to radians.
Node in_radians(const Node& node);

}  // namespace roll::math
