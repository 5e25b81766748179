// Evaluates a tree at a test point, for equal_expressions.h: every free symbol gets a number that depends only on its
// name and the point's index.
#pragma once

#include "reward/math/limits.h"
#include "reward/math/node.h"
#include "reward/math/value.h"

namespace roll::math {

struct Point {
  int index = 0;           // even: real numbers (from 4 on of both signs); odd: small positive integers
  bool log_is_10 = false;  // \log without a base: base 10 instead of e
};

/// Evaluates the tree. Unknown functions f(...) become arbitrary but fixed smooth functions of their arguments.
/// Unreadable: the node is not a number (sets, tuples, relations, words).
Value evaluate(const Node& node, const Point& point, Deadline& deadline);

/// Returns whether `node` is a decimal literal (with a '.'), also under a sign or percent: compared to 6 decimals.
bool is_decimal(const Node& node);

}  // namespace roll::math
