// Evaluates a tree at a test point, for equal_expressions.h: every free symbol gets a number that depends only on its
// name and the point's index.
#pragma once

#include "reward/math/limits.h"
#include "reward/math/node.h"
#include "reward/math/value.h"

namespace roll::math {

/// A test point: the values of all symbols.
struct Point {
  int index = 0;  // any number >= 0. Even: symbols are real numbers (positive if index < 4); odd: integers from 1 to 9
  bool log_is_10 = false;  // true: \log without a base has base 10, not e
};

/// Returns the value of the tree at the point. An unknown function f(...) is replaced by an arbitrary smooth function
/// of its arguments, the same for each f. Throws Unreadable if the tree is not numeric (a set, a tuple, a relation,
/// words) or too large, and TimeLimitPassed if the deadline passes.
Value evaluate(const Node& node, const Point& point, Deadline& deadline);

/// Returns whether `node` is a number written with a '.' and without repeating digits, perhaps with a sign, percent or
/// degrees. Such numbers are usually rounded, so equal_expressions() compares them to 6 decimals.
bool is_decimal(const Node& node);

}  // namespace roll::math
