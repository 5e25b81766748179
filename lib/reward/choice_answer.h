// Which of the listed choices a response takes.
#pragma once

#include <map>
#include <optional>
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
};

/// The last closed \boxed{...}; else what follows the last "answer is"; else all of `response`. Linear.
ChoiceAnswer find_choice(std::string_view response);

struct ChosenLetter {
  char letter = 0;            // A-Z; 0: none
  const char* rule = "none";  // letter | text | none
};

/// The answer's first capital letter A-Z, as in "B", "(B)", "B. Paris", "\text{B}". Where that only begins a word, the
/// choice whose whole text the answer is, letter case aside ("Paris"), comes before it.
ChosenLetter chosen_letter(std::string_view answer, const Choices& choices);

}  // namespace roll
