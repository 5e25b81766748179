// Finds the listed choice that a response names (choice_rule.h).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

/// Letter -> text of the choice.
using Choices = std::map<char, std::string>;

/// Returns the choices in a row's column `options` or `choices` (a list in the order A, B, ...; or {"A": text, ...}),
/// else those in the prompt's lines "A. Paris", "(B) Rome", "C: Bern". Empty if neither lists any.
Choices find_choices(const Json& row, std::string_view prompt);

struct ChoiceAnswer {
  std::string text;
  bool is_boxed = false;
  bool is_whole = false;  // no phrase introduces an answer: `text` is the whole response
};

/// Returns the last closed \boxed{...} (boxes joined by "or" are one answer); else the text after the last "answer is",
/// "answer:", "option is" or "choice is", without markup; else the whole response. Linear time.
ChoiceAnswer find_choice(std::string_view response);

struct ChosenLetter {
  char letter = 0;            // A to Z; 0 if none
  const char* rule = "none";  // letter | text | none
};

/// Returns the choice whose text equals the answer in any case ("Paris"); else the letter in it (choice_letter.h).
ChosenLetter chosen_letter(const ChoiceAnswer& answer, const Choices& choices);

}  // namespace roll
