// Finds the letter of a choice in a short text, in the usual spellings: "B", "(b)", "B. Paris", "Option B", "the answer
// is B because ...", "Paris (B)".
//
// When in doubt, the functions return no letter. They ignore letters that begin a word ("Choice") or are a word ("a
// city", "I think"). They ignore several letters together ("A or B") and letters that are ruled out ("A is wrong", "not
// B"). choice_answer.h uses them. `plain` is always a whole result of without_markup(), or a part of one.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Returns `text` without markup (LaTeX commands and braces, $, *, _, `, ") and without white space at both ends.
std::string without_markup(std::string_view text);

/// Returns the part of `plain` after its introductory words ("Answer:", "the correct option is"), without periods at
/// the end. A text of introductory words only is returned whole.
std::string_view behind_introduction(std::string_view plain);

/// Returns the letter at the start of `plain`, after any introductory words, as a capital; 0 if there is none.
char leading_letter(std::string_view plain);

/// Returns the letter in brackets or after a word such as "option" or "choose", anywhere in the text, as a capital.
/// Returns 0 if no letter, or several different letters, are marked in this way.
char marked_letter(std::string_view plain);

}  // namespace roll
