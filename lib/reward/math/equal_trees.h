// Compares parsed answers of any kind: expressions, relations, sets, tuples, intervals, matrices, words. Used by
// compare.h.
#pragma once

#include <string>

#include "reward/math/limits.h"
#include "reward/math/node.h"

namespace roll::math {

/// Returns whether `answer` means `truth`, and sets `rule` to the comparison that decided. TimeLimitPassed: the
/// deadline passed.
bool equal_trees(const Node& truth, const Node& answer, Deadline& deadline, std::string& rule);

}  // namespace roll::math
