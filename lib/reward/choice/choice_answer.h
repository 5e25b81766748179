// Finds the choice (A, B, ...) that a response to a multiple-choice question names. choice_rule.h uses it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

/// The choices of a question: capital letter -> text of the choice.
using Choices = std::map<char, std::string>;

/// Returns the choices in the column `options`, else `choices`, of a data row (a list of texts in the order A, B, ...;
/// or {"A": text, ...}). If there are none, returns those in lines "A. Paris", "(B) Rome", "C: Bern" of `prompt`; else
/// an empty map.
Choices find_choices(const Json& row, std::string_view prompt);

/// The part of a response that should name the choice.
struct ChoiceAnswer {
  std::string text;
  bool is_boxed = false;  // `text` is the content of \boxed{...}
  bool is_whole = false;  // `text` is the whole response: it has neither a box nor a phrase such as "answer is"
};

/// Returns the first of these that the response has. Linear time.
///   1. the content of the last closed \boxed{...}; "\boxed{A} or \boxed{B}" is one answer, "A or B"
///   2. the text after the last "answer is", "answer:", "answer would be", "option is" or "choice is", without markup
///   3. the whole response
ChoiceAnswer find_choice(std::string_view response);

/// The choice that an answer names.
struct ChosenLetter {
  char letter = 0;            // A to Z; 0: the answer names no choice, or several
  const char* rule = "none";  // "text": the answer is a choice's text; "letter": it contains a choice's letter; "none"
};

/// Returns the letter of the choice whose text equals the answer ("Paris"; ignores letter case and markup). Otherwise
/// returns the letter that the answer names (choice_letter.h), even if `choices` lacks that letter.
ChosenLetter chosen_letter(const ChoiceAnswer& answer, const Choices& choices);

}  // namespace roll
