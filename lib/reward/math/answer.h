// Finds the final answer in a response to a mathematical problem, for math_rule.h.
#pragma once

#include <string>
#include <string_view>

namespace roll::math {

/// The answer in a response.
struct Answer {
  std::string text;             // without the box or the $ around it; "" if no answer is found
  std::string source = "none";  // the rule of find_answer() that found it; "none" if no rule did
};

/// Returns the answer by the first of these rules that finds one, in linear time:
///   boxed   the content of the last \boxed{...} or \fbox{...} with closed braces; boxes that only "and", "or", "," or
///           ";" separate are one answer: "\boxed{1} and \boxed{2}" gives "1, 2"
///   phrase  the formula, or the rest of the sentence, after the last "answer is", "answer:" or "answer ="
///   latex   the last formula ($...$, \(...\) or \[...\]), if no number follows it
///   number  the last number
/// `response`: any bytes.
Answer find_answer(std::string_view response);

/// Returns the answer in `text` by the rule `boxed` alone; `text` itself if it has no box. Made for ground truths,
/// because some have a box.
std::string unboxed(std::string_view text);

}  // namespace roll::math
