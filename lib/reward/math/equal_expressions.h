// Compares two expressions, for equal_trees.h: equal if they have the same value wherever both are defined. Rational
// functions are compared exactly, others by values at fixed points. Nothing is simplified, so the cost is bounded.
// All functions throw TimeLimitPassed if the deadline passes.
#pragma once

#include "reward/math/limits.h"
#include "reward/math/node.h"

namespace roll::math {

/// Returns whether a == b as numbers, or as functions of their symbols. Constants are also equal if one is written with
/// a decimal point and they agree when rounded to 6 decimals (below 1e-3: to 4 significant digits). A \log without a
/// base is tried with base e, then with base 10; one match suffices. Throws Unreadable if a or b is not numeric: a set,
/// a tuple, a relation, words.
bool equal_expressions(const Node& a, const Node& b, Deadline& deadline);

/// Compares the relations left_a ~ right_a and left_b ~ right_b by the factor (left_a - right_a) / (left_b - right_b).
/// Returns 1 if it is constant and positive, -1 if it is constant and negative or complex, and 0 if it is not constant.
/// Returns 2 if both differences are zero everywhere (AB = BA), so that the factor says nothing. Throws like
/// equal_expressions().
int proportion_of_differences(const Node& left_a, const Node& right_a, const Node& left_b, const Node& right_b,
                              Deadline& deadline);

/// Returns the value of a constant real expression, which may be infinite. Throws Unreadable if the expression has
/// symbols, is not real or not numeric.
long double real_constant(const Node& node, Deadline& deadline);

}  // namespace roll::math
