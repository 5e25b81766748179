// Compares an answer with the ground truth as mathematics, for math_rule.h.
//
// Goals: right for the notation of contests and textbooks; never slow and never a crash, for any text. Non-goals:
// solving equations, comparing units, computer algebra. The comparison is asymmetric on purpose, because the ground
// truth sets the form: "5" accepts "x = 5", "x = 5" accepts "5", but "x = 5" does not accept "y = 5".
#pragma once

#include <string>
#include <string_view>

#include "reward/math/limits.h"

namespace roll::math {

struct Comparison {
  bool equal = false;
  // Deciding rule: text | choice | unit | identical | number | expression | relation | set | matrix | unreadable.
  std::string rule;
};

/// Compares two answers (LaTeX or plain text, without \boxed or $). TimeLimitPassed, and no other error.
Comparison compare_answers(std::string_view ground_truth, std::string_view answer, Deadline& deadline);

}  // namespace roll::math
