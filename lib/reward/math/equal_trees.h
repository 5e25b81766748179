// Compares parsed answers of any kind, for compare.h: expressions, relations, sets, tuples, intervals, matrices, words.
#pragma once

#include <string>

#include "reward/math/limits.h"
#include "reward/math/node.h"

namespace roll::math {

/// Returns whether `answer` means `truth`, and sets `rule` to the deciding comparison. TimeLimitPassed: time is over.
bool equal_trees(const Node& truth, const Node& answer, Deadline& deadline, std::string& rule);

}  // namespace roll::math
