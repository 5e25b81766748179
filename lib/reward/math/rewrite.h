// Rewrites trees into forms that can be compared: both values of +-, a matrix without a factor, angles in radians.
#pragma once

#include "reward/math/node.h"

namespace roll::math {

/// The node with each "a +- b" element replaced by its two values.
Node expanded(const Node& node);

/// A factor, divisor or sign of a matrix brought into it; other nodes as they are.
Node with_factor_inside(const Node& node);

/// `node` with each angle in degrees as one in radians.
Node in_radians(const Node& node);

}  // namespace roll::math
