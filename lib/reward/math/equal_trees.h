// Equality of parsed answers of any kind: expressions, relations, sets, tuples, intervals, matrices, words.
#pragma once

#include <string>

#include "reward/math/limits.h"
#include "reward/math/node.h"

namespace roll::math {

/// Whether `answer` means `truth`; `rule` tells which comparison decided. Throws TimeLimitPassed.
bool equal_trees(const Node& truth, const Node& answer, Deadline& deadline, std::string& rule);

}  // namespace roll::math
