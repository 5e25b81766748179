// The letter of a choice that a short text names, as people and models write it: "B", "(b)", "B. Paris", "Option B",
// "the answer is B because ...", "Paris (B)".
//
// A wrong letter costs more than none: letters that only begin a word ("Choice") or are one ("a city", "I think") are
// none, and neither are two that stand together ("A or B") or one that is ruled out ("A is wrong", "not B").
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// `text` without markup that changes only its looks: LaTeX commands and braces, dollars, asterisks, quotation marks.
std::string without_markup(std::string_view text);

/// The text behind words that only introduce an answer ("Answer:", "the correct option is"), without a period at the
/// end.
std::string_view behind_introduction(std::string_view plain);

/// The letter A-Z that `plain`, a text without markup, begins with, behind its introduction; 0: none.
char leading_letter(std::string_view plain);

/// The only letter that stands in brackets or behind a word such as "option" or "choose", wherever it is; 0: none, or
/// several.
char marked_letter(std::string_view plain);

}  // namespace roll
