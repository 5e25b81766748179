// Compares two expressions: equal if they have the same value wherever both are defined. Exact for rational functions,
// else by evaluation at fixed points. It never simplifies, so no expression causes a search.
#pragma once

#include "reward/math/limits.h"
#include "reward/math/node.h"

namespace roll::math {

/// Returns whether a == b as numbers, or as functions of their symbols. If one side has a decimal literal, compares to
/// 6 decimals (below 1e-3: to 4 significant digits). Unreadable: a or b is not a number.
bool equal_expressions(const Node& a, const Node& b, Deadline& deadline);

/// Compares (left - right) of two relations. Returns 0 if they are not proportional, +1 for a positive factor, -1 for a
/// negative or complex one, 2 if both vanish everywhere (AB = BA), so that nothing can be said.
int proportion_of_differences(const Node& left_a, const Node& right_a, const Node& left_b, const Node& right_b,
                              Deadline& deadline);

/// Returns the real value of a constant expression, which may be infinite. Unreadable: it is no real constant.
long double real_constant(const Node& node, Deadline& deadline);

}  // namespace roll::math
