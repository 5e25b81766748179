// Finds the letter of a choice in a short text, in the usual spellings: "B", "(b)", "B. Paris", "Option B", "the answer
// is B because ...", "Paris (B)".
//
// A wrong letter costs more than none. Letters that begin a word ("Choice") or are a word ("a city", "I think") do not
// count. Neither do two letters together ("A or B") or a letter that is ruled out ("A is wrong", "not B").
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Returns `text` without markup: LaTeX commands and braces, dollars, asterisks, quotation marks.
std::string without_markup(std::string_view text);

/// Returns the text after introductory words ("Answer:", "the correct option is"), without a period at the end.
std::string_view behind_introduction(std::string_view plain);

/// Returns the letter A-Z at the start of `plain` (a text without markup), after any introduction; 0 if there is none.
char leading_letter(std::string_view plain);

/// Returns the only letter in brackets or after a word such as "option" or "choose", anywhere in the text; 0 if there
/// is none, or several.
char marked_letter(std::string_view plain);

}  // namespace roll
