// Finds the answer in a response, for math_rule.h.
#pragma once

#include <string>
#include <string_view>

namespace roll::math {

struct Answer {
  std::string text;
  std::string source = "none";  // boxed | phrase | latex | number | none
};

/// Returns the last closed \boxed{...} or \fbox{...}, anywhere (boxes close together, as in "\boxed{1} and \boxed{2}",
/// form one list); else the text after the last "answer is" or "answer:"; else the last LaTeX formula or number (the
/// later one). Linear time.
Answer find_answer(std::string_view response);

/// Returns the content of the last box, or `text` itself: ground truths come with and without a box.
std::string unboxed(std::string_view text);

}  // namespace roll::math
