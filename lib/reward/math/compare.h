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
  /// Name of the rule that decided:
  ///   text        the answers are equal as text, are words, or one is empty
  ///   choice      both are the same letter of a multiple choice: "(C)" and "C"
  ///   unit        both end in a unit of measurement, and the units differ
  ///   identical   their parsed trees are identical
  ///   number, expression, relation, set, matrix
  ///               the trees were compared as objects of this kind; set: also a tuple, an interval or a list
  ///   unreadable  the parser cannot read an answer, so the texts were compared
  /// It is "" if one is a relation and the other is not, which makes them unequal.
  std::string rule;
};

/// Compares two answers: LaTeX or plain text, without a box. Throws TimeLimitPassed if the deadline passes, and nothing
/// else.
Comparison compare_answers(std::string_view ground_truth, std::string_view answer, Deadline& deadline);

}  // namespace roll::math
