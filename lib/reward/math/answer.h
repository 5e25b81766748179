// Where a response states its answer.
#pragma once

#include <string>
#include <string_view>

namespace roll::math {

struct Answer {
  std::string text;
  std::string source = "none";  // boxed | phrase | latex | number | none
};

/// The last closed \boxed{...} or \fbox{...}, wherever it is (boxes that stand close together, as in "\boxed{1} and
/// \boxed{2}", are one list); else what follows the last "answer is" / "answer:"; else the last LaTeX formula or
/// number, whichever ends later. Linear in the response.
Answer find_answer(std::string_view response);

/// The content of the last box, or `text` itself: ground truths come with and without one.
std::string unboxed(std::string_view text);

}  // namespace roll::math
