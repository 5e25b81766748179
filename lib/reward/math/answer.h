// Finds the final answer in a response to a mathematical problem, for math_rule.h.
#pragma once

#include <string>
#include <string_view>

namespace roll::math {

struct Answer {
  std::string text;             // without \boxed and dollars; "" if none is found
  std::string source = "none";  // how it was found: boxed | phrase | latex | number | none
};

/// Returns the content of the last closed \boxed{...} or \fbox{...} (source boxed; "\boxed{1} and \boxed{2}" is one
/// answer, "1, 2"); else the text after the last "answer is", "answer:" or "answer =" (phrase); else the last LaTeX
/// formula (latex) or number (number), the later of the two. Linear time.
Answer find_answer(std::string_view response);

/// Returns the content of the last \boxed{...} or \fbox{...} in `text` like find_answer(); `text` itself if it has
/// none, since ground truths come with and without a box.
std::string unboxed(std::string_view text);

}  // namespace roll::math
