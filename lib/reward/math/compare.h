// Compares an answer with the ground truth as mathematics, for math_rule.h.
//
// Goals: right for the notation of contests and textbooks; never slow and never a crash, for any text. Non-goals:
// solving equations, converting units, computer algebra. The comparison is asymmetric on purpose, because the ground
// truth sets the form: ground truth "5" accepts the answer "x = 5", "x = 5" accepts "5", but not "y = 5".
#pragma once

#include <string>
#include <string_view>

#include "reward/math/limits.h"

namespace roll::math {

struct Comparison {
  bool equal = false;
  // Rule that decided: text | choice | unit | identical | number | expression | relation | set | matrix | unreadable
  // (at least one side is not mathematics that the parser reads: the texts were compared).
  std::string rule;
};

/// Compares two answers (LaTeX or plain text, without \boxed or $). Throws TimeLimitPassed if the deadline passes, and
/// nothing else.
Comparison compare_answers(std::string_view ground_truth, std::string_view answer, Deadline& deadline);

}  // namespace roll::math
