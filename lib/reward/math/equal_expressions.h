// Whether two expressions have the same value wherever both are defined: decided exactly for rational functions, else
// by evaluation at fixed points. No simplification, so no expression can send it into a search.
#pragma once

#include "reward/math/limits.h"
#include "reward/math/node.h"

namespace roll::math {

/// a == b as numbers or functions of their symbols. A decimal literal on one side makes it a comparison to 6 decimals
/// (and, below 1e-3, to 4 significant digits). Throws Unreadable for what is no number.
bool equal_expressions(const Node& a, const Node& b, Deadline& deadline);

/// How (left - right) of two relations compare: 0 not proportional, +1 by a positive factor, -1 by a negative or
/// complex one; 2 when both vanish everywhere (AB = BA), so that nothing can be said.
int proportion_of_differences(const Node& left_a, const Node& right_a, const Node& left_b, const Node& right_b,
                              Deadline& deadline);

/// The real value of a constant expression; infinities allowed. Throws Unreadable otherwise.
long double real_constant(const Node& node, Deadline& deadline);

}  // namespace roll::math
