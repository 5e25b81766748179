// Which of the listed choices a response takes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

/// Letter -> the choice's text.
using Choices = std::map<char, std::string>;

/// The choices that a row's column `options` or `choices` lists (a list in the order A, B, ...; or {"A": text, ...}),
/// else those of the prompt's lines "A. Paris", "(B) Rome", "C: Bern". Empty where neither lists any.
Choices choices_of(const Json& row, std::string_view prompt);

struct ChoiceAnswer {
  std::string text;
  bool is_boxed = false;
  bool is_whole = false;  // `text` is the whole response, as no words introduce an answer
};

/// The last closed \boxed{...} (boxes that "or" joins are one answer); else what follows the last "answer is",
/// "answer:", "option is" or "choice is", without markup; else all of `response`. Linear.
ChoiceAnswer find_choice(std::string_view response);

struct ChosenLetter {
  char letter = 0;            // A-Z; 0: none
  const char* rule = "none";  // letter | text | none
};

/// The choice whose text the answer is, letter case aside ("Paris"); else the letter that it names
/// (choice_letter.h).
ChosenLetter chosen_letter(const ChoiceAnswer& answer, const Choices& choices);

}  // namespace roll
