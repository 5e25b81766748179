// Whether an answer means the same as the ground truth.
//
// Goals: right on what contests and textbooks write; never slow, never crashes, whatever the text. Non-goals: solving
// equations, comparing units, computer algebra. Where the two sides are not symmetric it is on purpose: the ground
// truth decides what is asked ("5" accepts "x = 5", "x = 5" accepts "5", but "x = 5" does not accept "y = 5").
#pragma once

#include <string>
#include <string_view>

#include "reward/math/limits.h"

namespace roll::math {

struct Comparison {
  bool equal = false;
  // What decided: text | choice | unit | identical | number | expression | relation | set | matrix, or "unreadable".
  std::string rule;
};

/// Compares two answers (LaTeX or plain text, without \boxed or $). Throws only TimeLimitPassed.
Comparison compare_answers(std::string_view ground_truth, std::string_view answer, Deadline& deadline);

}  // namespace roll::math
