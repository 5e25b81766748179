// Compares two parsed answers (trees, node.h) of any kind, for compare.h: expressions, relations, sets, tuples,
// intervals, matrices, words.
#pragma once

#include <string>

#include "reward/math/limits.h"
#include "reward/math/node.h"

namespace roll::math {

/// Returns whether `answer` means the same as `truth`, the ground truth, which sets the form (compare.h). Sets `rule`
/// to the rule that decided, a value of Comparison::rule. Both trees must be parsed with the same Letters (grammar.h).
/// Throws TimeLimitPassed if the deadline passes.
bool equal_trees(const Node& truth, const Node& answer, Deadline& deadline, std::string& rule);

}  // namespace roll::math
