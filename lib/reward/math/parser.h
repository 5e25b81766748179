// Tokens of an answer to a tree. A recursive descent with the habits of mathematical writing: juxtaposition multiplies
// and binds tighter than "/" (1/2x = 1/(2x)), \frac 34 takes single digits, units and words behind a value are dropped,
// 4\frac{5}{8} is a mixed number.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "reward/math/node.h"

namespace roll::math {

/// How letters are read. Both answers of a comparison must be parsed with the letters of both.
struct Letters {
  /// Those that stand directly before "(" in one of the answers and alone in none: f in f(0) is a function, n in n(n+1)
  /// is a factor.
  std::set<std::string> functions;
  /// One of the answers has a letter in both cases, as R/r: then case counts, in which writers are careless otherwise.
  bool case_counts = false;
};
Letters letters_of(std::string_view a, std::string_view b);

/// The tree of `text`. Throws Unreadable.
Node parse_answer(std::string_view text, const Letters& letters);

}  // namespace roll::math
